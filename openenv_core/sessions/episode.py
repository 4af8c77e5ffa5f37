"""The life of an episode, and what may be done when. Pure: no clock, no waiting."""

import math
from enum import Enum, auto
from typing import Any

from openenv_core.errors import EpisodeNotStartedError, EpisodeOverError, InvalidObservationError, InvalidRewardError

__all__ = ["Episode", "Phase"]


class Phase(Enum):
    """Where an episode stands."""

    NEEDS_RESET = auto()
    RUNNING = auto()
    OVER = auto()


class Episode:
    """NEEDS_RESET → RUNNING → OVER, and round again with every reset.

    Args:
        max_steps: the episode is truncated after so many steps; ``None`` for no limit.
        auto_start: a step may come before the first reset.
        lenient: what happens before the first reset and after the end is the environment's own affair.

    Attributes:
        phase: where it stands.
        episode_id: its name, once a reset gave it one.
        step_count: steps that ran since the last reset.
        total_reward: sum of their rewards.
    """

    __slots__ = ("_auto_start", "_lenient", "_max_steps", "episode_id", "phase", "step_count", "total_reward")

    def __init__(self, *, max_steps: int | None = None, auto_start: bool = False, lenient: bool = False) -> None:
        self._max_steps = max_steps
        self._auto_start = auto_start
        self._lenient = lenient
        self.phase = Phase.NEEDS_RESET
        self.episode_id: str | None = None
        self.step_count = 0
        self.total_reward = 0.0

    def check_step(self) -> None:
        """Refuse a step that has no episode to belong to.

        Raises:
            EpisodeNotStartedError, EpisodeOverError: nothing ran, and nothing is lost.
        """
        if self.phase is Phase.RUNNING or self._lenient:
            return
        if self.phase is Phase.OVER:
            raise EpisodeOverError("the episode is over; call reset to start the next one")
        if not self._auto_start:
            raise EpisodeNotStartedError("no episode is running; call reset first")

    def started(self, episode_id: str | None, observation: Any) -> bool:
        """A reset ran. Returns whether the new episode is over already; raises as :meth:`stepped` does."""
        _check_observation(observation, "reset")
        self.phase = Phase.RUNNING
        self.episode_id = episode_id
        self.step_count = 0
        self.total_reward = 0.0
        return self._judge(observation)

    def stepped(self, observation: Any) -> bool:
        """A step ran. Applies ``max_steps`` to the observation and returns whether the episode was cut by a limit.

        Raises:
            InvalidObservationError: what came back has no ``reward`` and ``done``.
            InvalidRewardError: the reward is not a finite number.
        """
        self.step_count += 1
        self.phase = Phase.RUNNING
        try:
            done, reward = observation.done, observation.reward
        except AttributeError:
            _check_observation(observation, "step")
            raise
        goes_on = not done and self._max_steps is None and not getattr(observation, "truncated", False)
        if goes_on and type(reward) is float and math.isfinite(reward):
            self.total_reward += reward  # nearly every step of nearly every environment ends here
            return False
        if self._max_steps is not None and self.step_count >= self._max_steps and not done:
            observation.done = True
            if hasattr(observation, "truncated"):
                observation.truncated = True
            self._judge(observation)
            return True
        return self._judge(observation)

    def _judge(self, observation: Any) -> bool:
        truncated = bool(getattr(observation, "truncated", False))
        if truncated and not observation.done:
            observation.done = True
        self.phase = Phase.OVER if observation.done else Phase.RUNNING
        reward = observation.reward
        if reward is not None:
            if type(reward) is not float and not isinstance(reward, int):
                reward = observation.reward = _number(reward)
            if not math.isfinite(reward):
                raise InvalidRewardError(
                    f"the reward is {reward!r}, not a finite number. The call itself has run.", reward=repr(reward)
                )
            self.total_reward += reward
        return truncated


def _number(reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise InvalidRewardError(
            f"the reward is a {type(reward).__name__}, not a number", reward=repr(reward)
        ) from None


def _check_observation(observation: Any, verb: str) -> None:
    if not hasattr(observation, "reward") or not hasattr(observation, "done"):
        raise InvalidObservationError(
            f"{verb} returned {type(observation).__name__}, which has no reward and done; return an Observation"
        )
