"""What a session remembers of its last request, so that a request that is sent again does not run again. Pure."""

from enum import Enum, auto
from typing import Generic, TypeVar

__all__ = ["Known", "ReplyMemory"]

ReplyT = TypeVar("ReplyT")


class Known(Enum):
    """What a request id says to a session."""

    FRESH = auto()
    RUNNING = auto()
    ANSWERED = auto()
    STALE = auto()


class ReplyMemory(Generic[ReplyT]):
    """Ids in flight, the largest id seen, and the last reply.

    One reply is enough: a client sends its next request for a session only after it has the reply to the last one, or
    knows that it gave that one up.
    """

    __slots__ = ("_running", "last_id", "last_reply", "replied_id")

    def __init__(self) -> None:
        self._running: tuple[int, ...] = ()  # nearly always empty, and then it takes no room
        self.last_id = 0
        self.replied_id = 0
        self.last_reply: ReplyT | None = None

    def look_up(self, request_id: int) -> Known:
        """Whether a request is new, under way, answered, or so old that its reply is forgotten."""
        if request_id in self._running:
            return Known.RUNNING
        if request_id > self.last_id:
            return Known.FRESH
        return Known.ANSWERED if request_id == self.replied_id else Known.STALE

    def begin(self, request_id: int) -> None:
        """A fresh request is taken on."""
        self.last_id = request_id
        self._running += (request_id,)

    def finish(self, request_id: int, reply: ReplyT) -> None:
        """It is answered."""
        self._running = tuple(running for running in self._running if running != request_id)
        self.replied_id = request_id
        self.last_reply = reply

    def answered_at_once(self, request_id: int, reply: ReplyT) -> None:
        """A fresh request was taken on and answered in one go."""
        self.last_id = self.replied_id = request_id
        self.last_reply = reply

    @property
    def in_flight(self) -> int:
        """Number of requests under way."""
        return len(self._running)
