"""The acme environment: each tool is a function."""

from openenv_core.tools import CallToolObservation, EnvironmentWithTools, tool
from openenv_core.types import Observation

from acme_env_server import functions

__all__ = ["AcmeEnvironment"]


class AcmeEnvironment(EnvironmentWithTools):
    """Gives functions to an agent as tools."""

    concurrency_safe = True  # instances may run side by side in one process
    execution = "thread"  # functions may block
    max_steps = 50  # then the episode is truncated

    def reset(self, *, episode_id: str | None = None) -> Observation:
        """Start an episode. There is no seed: functions have no randomness of ours."""
        return Observation()

    def judge(self, observation: CallToolObservation) -> CallToolObservation:
        """Say what a call has earned: here is the place for the task's reward and its end."""
        observation.reward = 0.0
        return observation

    @tool
    def acme_tool(self) -> None:
        """Made by the generator: one such method for each function."""
        return functions.acme_tool()
