"""The environment of ``toy_peer_tools``, written for this framework."""

from typing import Any

from openenv_core.server import create_app
from openenv_core.tools import CallToolAction, CallToolObservation, EnvironmentWithTools, tool
from openenv_core.types import Observation, State

__all__ = ["ToolToy", "app"]


class ToolToy(EnvironmentWithTools):
    """Tools, and nothing else."""

    concurrency_safe = True
    auto_start = True

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> Observation:
        """Begin."""
        return Observation(reward=0.0)

    @tool
    def add(self, a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: the first
            b: the second
        """
        return a + b

    @tool
    def pair(self, thing: str) -> dict[str, Any]:
        """Two of them."""
        return {"thing": thing, "count": 2}

    @tool
    def words(self) -> list[str]:
        """Some words."""
        return ["a", "b"]

    @tool
    def nothing(self) -> None:
        """Nothing comes back."""

    @tool
    def fail(self, why: str) -> None:
        """Fail."""
        raise ValueError(why)

    @property
    def state(self) -> State:
        """Nothing to tell."""
        return State(episode_id="unnamed", step_count=0)


app = create_app(ToolToy, CallToolAction, CallToolObservation, env_name="tools", max_concurrent_envs=4)
