"""How often one caller may open a session. Pure: every moment is an argument, in seconds of one monotonic clock."""

from openenv_core.errors import CapacityReachedError

__all__ = ["Pace"]

_FORGET_ABOVE = 1024
"""So many callers are remembered before those that have caught up are forgotten."""


class Pace:
    """A token bucket for each caller, kept as the one number that it takes: the moment of the next regular opening.

    Args:
        per_second: openings per second in the long run; one second's worth may come at once, and one always may.
            0 for no limit.
    """

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second
        self._interval_s = 1.0 / per_second if per_second else 0.0
        self._burst_s = (max(1.0, per_second) - 1.0) * self._interval_s
        self._next: dict[str, float] = {}

    def wait_s(self, caller: str, now: float) -> float:
        """Seconds until this caller may open its next session; 0 for at once."""
        return max(0.0, self._next.get(caller, now) - self._burst_s - now)

    def refusal(self, due_in_s: float) -> CapacityReachedError:
        """What to tell a caller that does not want to wait so long."""
        return CapacityReachedError(
            f"One caller may open {self.per_second:g} sessions per second; the next may follow in {due_in_s:.2g} s.",
            max_opens_per_second=self.per_second,
            retry_after_s=due_in_s,
        )

    def take(self, caller: str, now: float) -> None:
        """Count an opening, which may still lie in the future: :meth:`wait_s` from now."""
        if not self.per_second:
            return
        if len(self._next) >= _FORGET_ABOVE:
            self._next = {name: moment for name, moment in self._next.items() if moment > now}
        self._next[caller] = max(self._next.get(caller, now), now) + self._interval_s
