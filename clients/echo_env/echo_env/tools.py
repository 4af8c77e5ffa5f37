"""Echo as tools for a language model."""

from echo_env.client import EchoEnv
from echo_env.models import EchoAction
from openenv_core.training import ToolEnvironment, reward_function

__all__ = ["ECHO_PROMPT", "EchoTools", "echo_reward"]

ECHO_PROMPT = "Use the tool `echo` to say something. The longer it is, the better."


class EchoTools(ToolEnvironment[EchoEnv]):
    """Say something and hear it back; each character pays 0.1."""

    client_type = EchoEnv
    prompt = ECHO_PROMPT

    def echo(self, message: str) -> str:
        """Say something and get it back.

        Args:
            message: What to say.

        Returns:
            The message, as it came back.
        """
        return str(self._step(EchoAction(message=message)).observation.echoed_message)


@reward_function(EchoTools)
def echo_reward(tools: EchoTools) -> float | None:
    """What the last message has paid: 0.1 for each of its characters."""
    return tools.episode.last_reward
