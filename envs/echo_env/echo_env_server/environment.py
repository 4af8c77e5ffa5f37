"""The echo environment."""

import random

from echo_env.models import EchoAction, EchoObservation, EchoState
from openenv_core.environment import Environment

__all__ = ["CHARACTERS_PER_REWARD", "EchoEnvironment"]

CHARACTERS_PER_REWARD = 10
"""0.1 for each character, as TRL's echo example and the public package's template pay; a quotient is rounded right."""

_GREETINGS = ("Echo environment ready!", "Say something.", "I am listening.", "Your turn to speak.")


class EchoEnvironment(Environment[EchoAction, EchoObservation, EchoState]):
    """Says back what it is told. An episode starts by itself at the first step and never ends."""

    concurrency_safe = True
    execution = "inline"
    auto_start = True

    def __init__(self) -> None:
        self._episode_id: str | None = None
        self._steps = 0

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> EchoObservation:
        """Start counting anew. ``seed`` chooses the greeting; there is nothing else to choose."""
        self._episode_id, self._steps = episode_id, 0
        greeting = _GREETINGS[0] if seed is None else random.Random(seed).choice(_GREETINGS)
        return EchoObservation(echoed_message=greeting)

    def step(self, action: EchoAction) -> EchoObservation:
        """Say the message back."""
        self._steps += 1
        length = len(action.message)
        return EchoObservation(
            echoed_message=action.message, message_length=length, reward=length / CHARACTERS_PER_REWARD
        )

    @property
    def state(self) -> EchoState:
        """Episode id and number of steps."""
        return EchoState(episode_id=self._episode_id, step_count=self._steps)
