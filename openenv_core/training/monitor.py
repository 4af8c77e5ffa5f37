"""Counting what happens to rollouts: metrics for a trainer's log, and the limit of faults at which a run stops."""

import logging
import statistics
import threading
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

from openenv_core.errors import ConfigurationError, OpenEnvError
from openenv_core.training.record import Episode

__all__ = ["FaultLimitError", "Monitor"]

_log = logging.getLogger(__name__)

_LEAST_ROLLOUTS = 16
"""Fewer rollouts say nothing about a rate."""

_SILENT_GROUPS = 16
"""So many groups in a row without any spread are no accident."""


class FaultLimitError(OpenEnvError):
    """So many rollouts failed for reasons of the infrastructure that training is stopped. Details: ``faults``."""


class Monitor:
    """What became of the rollouts of one environment in this process. Its methods may be called from any thread.

    Args:
        name: of the environment, as metrics tell it.
        max_fault_rate: the share of faulty rollouts, 0 to 1, above which :meth:`finished` raises.
        window: over how many of the last rollouts that share is taken.

    Attributes:
        totals: faults since the start, by reason.
        rollouts: number of rollouts since the start.
    """

    def __init__(self, name: str, *, max_fault_rate: float = 0.5, window: int = 100) -> None:
        if not 0 <= max_fault_rate <= 1 or window < _LEAST_ROLLOUTS:
            raise ConfigurationError(
                f"max_fault_rate is {max_fault_rate} and must be 0 to 1; fault_window is {window} and must be "
                f"{_LEAST_ROLLOUTS} or more"
            )
        self.name = name
        self.max_fault_rate = max_fault_rate
        self.totals: Counter[str] = Counter()
        self.rollouts = 0
        self._recent: deque[bool] = deque(maxlen=window)
        self._last_words: deque[str] = deque(maxlen=3)
        self._since_log: list[Episode] = []
        self._spreads: list[float] = []
        self._silent_groups = 0
        self._has_warned = False
        self._lock = threading.Lock()

    def finished(self, episode: Episode) -> None:
        """Count an episode, once.

        Raises:
            FaultLimitError: too many of the last rollouts were faulty.
        """
        with self._lock:
            if not self._count(episode):
                return
            faulty = sum(self._recent)
            is_over = len(self._recent) >= _LEAST_ROLLOUTS and faulty > self.max_fault_rate * len(self._recent)
        if is_over and episode.fault is not None:
            raise self._report(faulty)

    def _count(self, episode: Episode) -> bool:
        if episode.counted or not episode.begun:
            return False
        episode.counted = True
        self.rollouts += 1
        self._since_log.append(episode)
        self._recent.append(episode.fault is not None)
        if episode.fault is not None:
            self.totals[episode.fault.reason] += 1
            self._last_words.append(f"{episode.fault.reason}: {episode.fault.message}")
        return True

    def _report(self, faulty: int) -> FaultLimitError:
        counts = ", ".join(f"{reason} {count}" for reason, count in self.totals.most_common())
        return FaultLimitError(
            f"{self.name}: {faulty} of the last {len(self._recent)} rollouts failed for reasons of the infrastructure, "
            f"more than max_fault_rate={self.max_fault_rate:g} allows; since the start: {counts} of {self.rollouts}. "
            f"The last of them said: {' | '.join(self._last_words)}",
            faults=dict(self.totals),
        )

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Count a batch in its order, and the spread of rewards within its groups: neighbours with equal rows.

        Raises:
            FaultLimitError: as :meth:`finished`.
        """
        new = [episode for episode in episodes if episode.begun and not episode.counted]
        for group in _groups(new):
            rewards = [episode.reward for episode in group if episode.reward is not None]
            if len(rewards) > 1:
                self._note_spread(statistics.pstdev(rewards))
        for episode in new:
            self.finished(episode)

    def _note_spread(self, spread: float) -> None:
        with self._lock:
            self._spreads.append(spread)
            self._silent_groups = 0 if spread > 0 else self._silent_groups + 1
            is_new = self._silent_groups >= _SILENT_GROUPS and not self._has_warned
            self._has_warned |= is_new
        if is_new:
            _log.warning(
                "%s: in the last %d groups all rollouts of a group earned the same, so there is nothing to learn from. "
                "Likely causes: the model makes no tool calls, or max_completion_length ends the rollouts too early; "
                "the task is far too hard or too easy; the temperature is too low",
                self.name,
                _SILENT_GROUPS,
            )

    def metrics(self) -> dict[str, float]:
        """The figures of the rollouts since the last call, named ``env/<name>/<figure>``; empty without any."""
        with self._lock:
            episodes, self._since_log = self._since_log, []
            spreads, self._spreads = self._spreads, []
        if not episodes:
            return {}
        figures = _figures(episodes)
        if spreads:
            figures["group_reward_std"] = statistics.fmean(spreads)
            figures["groups_without_spread"] = sum(spread == 0 for spread in spreads) / len(spreads)
        return {f"env/{self.name}/{figure}": value for figure, value in figures.items()}


def _figures(episodes: list[Episode]) -> dict[str, float]:
    good = [episode for episode in episodes if episode.fault is None]
    figures = {"rollouts": float(len(episodes)), "fault_rate": 1 - len(good) / len(episodes)}
    reasons = Counter(episode.fault.reason for episode in episodes if episode.fault is not None)
    figures |= {f"faults/{reason}": float(count) for reason, count in reasons.items()}
    measured: dict[str, Iterable[float]] = {
        "reward": [episode.reward for episode in good if episode.reward is not None],
        "success": [float(episode.success) for episode in good if episode.success is not None],
        "finished": [float(episode.done) for episode in good],
        "episode_length": [float(episode.steps) for episode in good],
        "invalid_actions": [float(episode.invalid_actions) for episode in good],
        "reset_latency_s": [episode.reset_seconds for episode in good],
    }
    figures |= {name: statistics.fmean(values) for name, values in measured.items() if values}
    latencies = sorted(seconds for episode in episodes for seconds in episode.tool_seconds)
    if latencies:
        figures["tool_latency_s"] = statistics.fmean(latencies)
        figures["tool_latency_p95_s"] = latencies[int(0.95 * (len(latencies) - 1))]
    return figures


def _groups(episodes: Sequence[Episode]) -> list[list[Episode]]:
    groups: list[list[Episode]] = []
    for episode in episodes:
        if groups and _alike(groups[-1][0].columns, episode.columns):
            groups[-1].append(episode)
        else:
            groups.append([episode])
    return groups


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two rows are equal; values that have no plain equality (arrays, pictures) are not looked at."""
    plain = (str, int, float, bool, list, tuple, dict, type(None))
    return one.keys() == other.keys() and all(
        one[name] == other[name] for name in one if isinstance(one[name], plain) and isinstance(other[name], plain)
    )
