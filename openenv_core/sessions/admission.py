"""Who gets a slot. Pure: every moment is an argument, and what to do next is returned, not done."""

import math
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["Admission", "Decision", "Ticket"]


class Decision(Enum):
    """What became of a request for a slot."""

    ADMITTED = auto()
    QUEUED = auto()
    REFUSED = auto()


@dataclass(eq=False, slots=True)
class Ticket:
    """One request for a slot.

    Attributes:
        caller: who asks; for listings and limits by caller.
        deadline: the moment until which it waits in the queue.
        admitted: it holds a slot.
    """

    caller: str = ""
    deadline: float = math.inf
    admitted: bool = False


class Admission:
    """Slots for ``max_sessions`` sessions, and a first-come queue before them.

    A slot is held from before the environment is built until :meth:`release`. Nobody overtakes: while somebody waits,
    a free slot goes to the head of the queue.

    Args:
        max_sessions: number of slots.
        max_queue: so many may wait.
        max_per_caller: so many slots and places in the queue one caller may hold; ``None`` for no limit.
    """

    def __init__(self, max_sessions: int, *, max_queue: int, max_per_caller: int | None = None) -> None:
        self.max_sessions = max_sessions
        self._max_queue = max_queue
        self._max_per_caller = max_per_caller
        self._held: set[Ticket] = set()
        self._queue: dict[Ticket, None] = {}  # in order of arrival; a dict removes from the middle in constant time
        self._per_caller: dict[str, int] = {}
        self.closed = False

    @property
    def active(self) -> int:
        """Slots in use, those of sessions under construction included."""
        return len(self._held)

    @property
    def queued(self) -> int:
        """Tickets that wait."""
        return len(self._queue)

    def request(self, ticket: Ticket, now: float, *, wait_s: float = 0.0) -> Decision:
        """Ask for a slot.

        Args:
            wait_s: the ticket may wait so long in the queue; 0 is refused at once where no slot is free.
        """
        if self.closed or self.caller_is_full(ticket.caller):
            return Decision.REFUSED
        if len(self._held) < self.max_sessions and not self._queue:
            self._count(ticket.caller, +1)
            self._admit(ticket)
            return Decision.ADMITTED
        if wait_s <= 0 or len(self._queue) >= self._max_queue:
            return Decision.REFUSED
        ticket.deadline = now + wait_s
        self._count(ticket.caller, +1)
        self._queue[ticket] = None
        return Decision.QUEUED

    def caller_is_full(self, caller: str) -> bool:
        """Whether this caller holds all that one caller may."""
        return self._max_per_caller is not None and self._per_caller.get(caller, 0) >= self._max_per_caller

    def release(self, ticket: Ticket) -> list[Ticket]:
        """Give a slot back, once or more often; returns the tickets that are admitted by that."""
        if ticket not in self._held:
            return []
        self._held.remove(ticket)
        ticket.admitted = False
        self._count(ticket.caller, -1)
        return self._advance()

    def withdraw(self, ticket: Ticket) -> list[Ticket]:
        """Leave the queue, or give back the slot that came in the same moment; returns those admitted by that."""
        if ticket in self._queue:
            del self._queue[ticket]
            self._count(ticket.caller, -1)
            return []
        return self.release(ticket)

    def expired(self, now: float) -> list[Ticket]:
        """Remove and return the tickets whose wait is over."""
        late = [ticket for ticket in self._queue if ticket.deadline <= now]
        for ticket in late:
            self.withdraw(ticket)
        return late

    def position(self, ticket: Ticket) -> int | None:
        """Place in the queue, 1 for the next; ``None`` for a ticket that does not wait."""
        for place, waiting in enumerate(self._queue, start=1):
            if waiting is ticket:
                return place
        return None

    def close(self) -> list[Ticket]:
        """Admit nobody any more; returns those who waited."""
        self.closed = True
        waiting = list(self._queue)
        for ticket in waiting:
            self.withdraw(ticket)
        return waiting

    def _advance(self) -> list[Ticket]:
        admitted = []
        while self._queue and len(self._held) < self.max_sessions:
            ticket = next(iter(self._queue))
            del self._queue[ticket]
            self._admit(ticket)
            admitted.append(ticket)
        return admitted

    def _admit(self, ticket: Ticket) -> None:
        ticket.admitted = True
        self._held.add(ticket)

    def _count(self, caller: str, change: int) -> None:
        count = self._per_caller.get(caller, 0) + change
        if count:
            self._per_caller[caller] = count
        else:
            self._per_caller.pop(caller, None)
