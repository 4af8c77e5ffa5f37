"""Server of the echo environment."""

from random import Random

from echo_env.models import EchoAction, EchoObservation
from echo_env_server.environment import EchoEnvironment
from openenv_core.environment import EnvironmentSpec

__all__ = ["EchoEnvironment", "spec"]


def _sample_action(observation: EchoObservation, random: Random) -> EchoAction:
    return EchoAction(message="".join(random.choices("abcdefghij ", k=random.randint(1, 12))))


spec = EnvironmentSpec(
    name="echo_env",
    factory=EchoEnvironment,
    client="echo_env:EchoEnv",
    description="Says back what it is told; the reward is 0.1 per character.",
    demo="echo_env_server.demo:play",
    sample_action=_sample_action,
    example_action={"message": "hello"},
    tools="echo_env.tools:EchoTools",
)
