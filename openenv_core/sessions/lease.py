"""How long a session is kept. Pure: every moment is an argument, in seconds of one monotonic clock."""

from enum import Enum, auto

from openenv_core.errors import LossReason

__all__ = ["Lease", "LeaseState"]


class LeaseState(Enum):
    """ATTACHED ⇄ DETACHED → CLOSED."""

    ATTACHED = auto()
    DETACHED = auto()
    CLOSED = auto()


class Lease:
    """A client's claim on a session.

    Work in flight is never idle, and every valid request starts the idle time anew. A detached session is kept for
    ``resume_grace_s``; one that cannot be resumed is not kept at all.

    Args:
        now: the moment at which the session opened.
        idle_timeout_s: an attached session that nobody uses ends after so many seconds.
        resume_grace_s: a detached session ends after so many seconds; 0 where it cannot be resumed.
    """

    __slots__ = ("_idle_timeout_s", "_last_used", "_resume_grace_s", "_running", "detached_since", "reason", "state")

    def __init__(self, now: float, *, idle_timeout_s: float, resume_grace_s: float) -> None:
        self._idle_timeout_s = idle_timeout_s
        self._resume_grace_s = resume_grace_s
        self._last_used = now
        self._running = 0
        self.state = LeaseState.ATTACHED
        self.detached_since: float | None = None
        self.reason: LossReason | None = None

    def begin(self, now: float) -> None:
        """A request has come in and is being worked on."""
        self._running += 1
        self._last_used = now

    def end(self, now: float) -> None:
        """That work is done."""
        self._running -= 1
        self._last_used = now

    def touch(self, now: float) -> None:
        """A request has come in and was answered at once."""
        self._last_used = now

    def allow_idle(self, seconds: float) -> None:
        """From now on an attached session that nobody uses ends after so many seconds."""
        self._idle_timeout_s = seconds

    def allow_away(self, seconds: float) -> None:
        """From now on a detached session ends after so many seconds."""
        self._resume_grace_s = seconds

    def attach(self, now: float) -> None:
        """The client is (back) on a connection."""
        if self.state is not LeaseState.CLOSED:
            self.state = LeaseState.ATTACHED
            self.detached_since = None
            self._last_used = now

    def detach(self, now: float) -> None:
        """The client's connection is gone."""
        if self.state is LeaseState.ATTACHED:
            self.state = LeaseState.DETACHED
            self.detached_since = now

    def close(self, reason: LossReason) -> bool:
        """End the claim. Returns whether this call ended it: the first reason stays."""
        if self.state is LeaseState.CLOSED:
            return False
        self.state = LeaseState.CLOSED
        self.reason = reason
        return True

    def idle_s(self, now: float) -> float:
        """Seconds since the last use; 0 while work is in flight."""
        return 0.0 if self._running else max(0.0, now - self._last_used)

    def due(self, now: float) -> LossReason | None:
        """Why the session must end now, if it must."""
        if self.state is LeaseState.CLOSED:
            return None
        if self.detached_since is not None and now - self.detached_since >= self._resume_grace_s:
            return LossReason.GRACE_EXPIRED if self._resume_grace_s > 0 else LossReason.DISCONNECTED
        if self.detached_since is None and not self._running and now - self._last_used >= self._idle_timeout_s:
            return LossReason.IDLE_TIMEOUT
        return None
