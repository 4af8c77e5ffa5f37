"""A short episode of echo, for the demonstration."""

from collections.abc import Iterator

from echo_env import EchoAction, EchoEnv, EchoObservation
from openenv_core.types import StepResult

__all__ = ["play"]


def play(env: EchoEnv) -> Iterator[StepResult[EchoObservation]]:
    """Say five things and yield what comes back."""
    yield env.reset(seed=7)
    for message in ("hello", "is there anybody", "in there?", "just nod", "if you can hear me"):
        yield env.step(EchoAction(message=message))
