"""What a server counts. Plain numbers that cost next to nothing to keep; others give them names and units.

A step pays for one reading of the clock and one addition to a list (about 0.2 µs, against some 15 µs that its server
spends on it).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from openenv_core.sessions.episode import Episode, Phase

__all__ = ["Durations", "EpisodeMeasures", "Measures", "Spread"]

_POWERS = 64
EPISODE_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
EPISODE_REWARDS = (-100, -10, -5, -2, -1, -0.5, -0.1, 0, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 2, 5, 10, 100)


class Durations:
    """How long things took: a count for each power of two of microseconds, and the sum.

    Attributes:
        counts: ``counts[n]`` is the number of durations of at least ``2 ** (n - 1)`` and less than ``2 ** n`` µs.
        total: seconds in all.
    """

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * _POWERS
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        # Not bisect over bounds: the length of an integer in bits is the cheapest logarithm that there is.
        self.counts[int(seconds * 1e6).bit_length()] += 1
        self.total += seconds

    def up_to(self, power: int) -> int:
        """The number of durations shorter than ``2 ** power`` µs."""
        return sum(self.counts[: power + 1])


class Spread:
    """How numbers are spread over given bounds.

    Attributes:
        bounds: ascending; each is the largest number of its class.
        counts: one per bound, and a last one for what is larger.
        total: their sum.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one number."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class EpisodeMeasures:
    """Lengths and rewards of the episodes that ended one way."""

    def __init__(self) -> None:
        self.steps = Spread(EPISODE_STEPS)
        self.rewards = Spread(EPISODE_REWARDS)


class Measures:
    """The counts of one server.

    Attributes:
        steps: how long the environment took over each step.
        waits: how long those who had to wait for a slot waited until they got it.
        opened: sessions by the door through which they came.
        errors: error replies by code.
        finished, abandoned: the episodes that came to an end, and those that were left by a reset or with their
            session.
    """

    def __init__(self) -> None:
        self.steps = Durations()
        self.waits = Durations()
        self.opened: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.finished = EpisodeMeasures()
        self.abandoned = EpisodeMeasures()

    def leave(self, episode: Episode) -> None:
        """An episode makes room for the next, or its session ends."""
        if episode.phase is Phase.NEEDS_RESET or (episode.phase is Phase.RUNNING and not episode.step_count):
            return
        measures = self.finished if episode.phase is Phase.OVER else self.abandoned
        measures.steps.add(episode.step_count)
        measures.rewards.add(episode.total_reward)
