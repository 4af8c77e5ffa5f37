"""The acme environment."""

import random

from openenv_core import Environment

from acme_env.models import AcmeAction, AcmeObservation, AcmeState

__all__ = ["AcmeEnvironment"]

GUESSES = 10
"""Halving finds one number of a thousand with so many."""


class AcmeEnvironment(Environment[AcmeAction, AcmeObservation, AcmeState]):
    """Thinks of a number from 1 to ``top`` and answers guesses with higher or lower."""

    concurrency_safe = True  # instances may run side by side in one process
    execution = "inline"  # fast and never blocks; "thread" may block, "process" may crash

    def __init__(self) -> None:
        self._state = AcmeState()
        self._sought = 0

    def reset(
        self,
        *,
        seed: int | None = None,
        episode_id: str | None = None,
        top: int = 100,
    ) -> AcmeObservation:
        """Think of a number. ``seed`` fixes which, in any session and process."""
        self._sought = random.Random(seed).randint(1, top)
        self._state = AcmeState(episode_id=episode_id, top=top)
        return self._observe(f"I think of a number from 1 to {top}.")

    def step(self, action: AcmeAction) -> AcmeObservation:
        """Compare the guess with the number."""
        self._state.step_count += 1
        if action.number == self._sought:
            return self._observe("found", reward=1.0, done=True, success=True)
        hint = "higher" if self._sought > action.number else "lower"
        is_last = self._state.step_count == GUESSES
        success = False if is_last else None
        return self._observe(hint, reward=0.0, done=is_last, success=success)

    @property
    def state(self) -> AcmeState:
        """What may be known of the session."""
        return self._state

    def _observe(
        self,
        hint: str,
        *,
        reward: float | None = None,
        done: bool = False,
        success: bool | None = None,
    ) -> AcmeObservation:
        return AcmeObservation(
            hint=hint,
            guesses_left=GUESSES - self._state.step_count,
            reward=reward,
            done=done,
            success=success,
        )
