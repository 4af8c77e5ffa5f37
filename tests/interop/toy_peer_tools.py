# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped,misc,untyped-decorator,no-untyped-def"
"""Tools of an environment of the public package; ``toy_ours_tools`` has the same."""

from typing import Any

from fastmcp import FastMCP
from openenv.core.env_server import create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Observation, State


def _server() -> Any:
    server = FastMCP("tools")

    @server.tool
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: the first
            b: the second
        """
        return a + b

    @server.tool
    def pair(thing: str) -> dict[str, Any]:
        """Two of them."""
        return {"thing": thing, "count": 2}

    @server.tool
    def words() -> list[str]:
        """Some words."""
        return ["a", "b"]

    @server.tool
    def nothing() -> None:
        """Nothing comes back."""

    @server.tool
    def fail(why: str) -> None:
        """Fail."""
        raise ValueError(why)

    return server


class ToolToy(MCPEnvironment):
    """Tools, and nothing else."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(_server())

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        return Observation(reward=0.0)

    def _step_impl(self, action: Any, timeout_s: float | None = None, **options: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        return State(episode_id="unnamed", step_count=0)


app = create_app(ToolToy, CallToolAction, CallToolObservation, env_name="tools", max_concurrent_envs=4)
