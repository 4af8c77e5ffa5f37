"""A server's figures over time: a ring of samples, filled while somebody looks."""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic import BaseModel

from openenv_core.sessions.manager import SessionManager

__all__ = ["INTERVAL_S", "Sample", "Totals"]

INTERVAL_S: Final = 2.0
_KEPT: Final = 300
"""Samples: ten minutes."""


class Sample(BaseModel):
    """What happened within one interval, and what there was at its end.

    Attributes:
        at: Unix time.
        active, queued: sessions, and callers who wait for one, at the end.
        steps_per_s, episodes_per_s: steps, and episodes that came to an end.
        step_p50_s, step_p99_s: half of the steps, and 99 of 100, took the environment no longer; upper bounds of
            classes that are powers of two; ``None`` where there was no step.
        reward_mean: of the episodes that came to an end; ``None`` where none did.
        opened: sessions.
        errors: error replies by code.
        ended: sessions by the reason of their end.
    """

    at: float
    active: int
    queued: int
    steps_per_s: float = 0.0
    episodes_per_s: float = 0.0
    step_p50_s: float | None = None
    step_p99_s: float | None = None
    reward_mean: float | None = None
    opened: int = 0
    errors: dict[str, int] = {}
    ended: dict[str, int] = {}


class _Counts:
    """All that is counted, at one moment."""

    def __init__(self, manager: SessionManager, now: float) -> None:
        measures = manager.measures
        self.at = now
        self.durations = list(measures.steps.counts)
        self.finished = sum(measures.finished.rewards.counts)
        self.rewards = measures.finished.rewards.total
        self.opened = manager.opened
        self.errors = Counter(measures.errors)
        self.ended = Counter({str(reason): count for reason, count in manager.ended.items()})


class Totals:
    """The samples of one server.

    Args:
        clock: monotonic seconds.

    Attributes:
        samples: the oldest first.
        started: Unix time at which the first look began; ``None`` before.
    """

    def __init__(self, manager: SessionManager, clock: Callable[[], float]) -> None:
        self._manager = manager
        self._clock = clock
        self._before: _Counts | None = None
        self.samples: deque[Sample] = deque(maxlen=_KEPT)
        self.started: float | None = None

    def begin(self) -> None:
        """Somebody looks: count from now on. What happened before nobody saw is in no sample."""
        self.started = self.started or time.time()
        self._before = _Counts(self._manager, self._clock())

    def sample(self) -> None:
        """Take one, of what happened since the last."""
        if self._before is not None:
            now = _Counts(self._manager, self._clock())
            self.samples.append(self._between(self._before, now))
            self._before = now

    def now(self) -> Sample:
        """One of what happened since the last that was taken."""
        return self._between(self._before, _Counts(self._manager, self._clock())) if self._before else self._empty()

    def so_far(self) -> dict[str, Any]:
        """What was counted since the server started."""
        measures, manager = self._manager.measures, self._manager
        return {
            "steps": sum(measures.steps.counts),
            "errors": dict(measures.errors),
            "ended": {str(reason): count for reason, count in manager.ended.items()},
            "opened": dict(measures.opened),
        }

    def _empty(self) -> Sample:
        admission = self._manager.admission
        return Sample(at=time.time(), active=admission.active, queued=admission.queued)

    def _between(self, before: _Counts, now: _Counts) -> Sample:
        sample = self._empty()
        seconds = max(now.at - before.at, 1e-3)
        durations = [later - earlier for later, earlier in zip(now.durations, before.durations, strict=True)]
        finished = now.finished - before.finished
        sample.steps_per_s = round(sum(durations) / seconds, 3)
        sample.episodes_per_s = round(finished / seconds, 3)
        sample.step_p50_s, sample.step_p99_s = _share(durations, 0.5), _share(durations, 0.99)
        sample.reward_mean = (now.rewards - before.rewards) / finished if finished else None
        sample.opened = now.opened - before.opened
        sample.errors = dict(now.errors - before.errors)
        sample.ended = dict(now.ended - before.ended)
        return sample


def _share(counts: Sequence[int], share: float) -> float | None:
    """The upper bound, in seconds, of the class up to which this share of the durations is."""
    wanted, so_far = share * sum(counts), 0
    if not wanted:
        return None
    for power, count in enumerate(counts):
        so_far += count
        if so_far >= wanted:
            return float(2**power) / 1e6
    return None
