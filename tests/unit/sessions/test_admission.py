import math
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from openenv_core.sessions.admission import Admission, Decision, Ticket


def admitted(admission: Admission, caller: str = "") -> Ticket:
    ticket = Ticket(caller)
    assert admission.request(ticket, 0.0) is Decision.ADMITTED
    return ticket


def test_the_last_slot_is_the_last() -> None:
    admission = Admission(2, max_queue=0)
    admitted(admission), admitted(admission)
    assert admission.request(Ticket(), 0.0) is Decision.REFUSED
    assert admission.request(Ticket(), 0.0, wait_s=5.0) is Decision.REFUSED  # nobody may wait either


def test_whoever_came_first_is_next() -> None:
    admission = Admission(1, max_queue=3)
    holder = admitted(admission)
    waiting = [Ticket(str(number)) for number in range(3)]
    assert [admission.request(ticket, 0.0, wait_s=9.0) for ticket in waiting] == [Decision.QUEUED] * 3
    assert [admission.position(ticket) for ticket in waiting] == [1, 2, 3]
    assert admission.release(holder) == [waiting[0]]
    assert [admission.position(ticket) for ticket in waiting] == [None, 1, 2]


def test_nobody_overtakes_those_who_wait() -> None:
    admission = Admission(1, max_queue=3)
    holder = admitted(admission)
    waiting = Ticket()
    admission.request(waiting, 0.0, wait_s=9.0)
    assert admission.request(Ticket(), 0.0) is Decision.REFUSED
    assert admission.release(holder) == [waiting]
    assert admission.request(Ticket(), 0.0) is Decision.REFUSED


def test_a_wait_ends_at_its_deadline() -> None:
    admission = Admission(1, max_queue=3)
    admitted(admission)
    short, long = Ticket(), Ticket()
    admission.request(long, 0.0, wait_s=9.0)
    admission.request(short, 0.0, wait_s=2.0)
    assert admission.expired(1.9) == []
    assert admission.expired(2.0) == [short]
    assert admission.position(long) == 1
    assert admission.queued == 1


def test_places_of_one_caller_are_limited_in_slots_and_queue_together() -> None:
    admission = Admission(3, max_queue=3, max_per_caller=2)
    first, second = admitted(admission, "a"), admitted(admission, "a")
    assert admission.caller_is_full("a")
    assert admission.request(Ticket("a"), 0.0, wait_s=9.0) is Decision.REFUSED
    admitted(admission, "b")
    assert admission.request(Ticket("b"), 0.0, wait_s=9.0) is Decision.QUEUED
    assert admission.request(Ticket("b"), 0.0, wait_s=9.0) is Decision.REFUSED
    assert admission.release(first)
    assert not admission.caller_is_full("a")
    admission.release(second)


def test_after_closing_nobody_is_admitted_and_those_who_waited_are_told() -> None:
    admission = Admission(1, max_queue=3)
    holder = admitted(admission)
    waiting = Ticket()
    admission.request(waiting, 0.0, wait_s=9.0)
    assert admission.close() == [waiting]
    assert admission.release(holder) == []
    assert admission.request(Ticket(), 0.0, wait_s=9.0) is Decision.REFUSED
    assert (admission.active, admission.queued) == (0, 0)


@pytest.mark.parametrize("verb", ["release", "withdraw"])
def test_a_ticket_that_was_never_here_changes_nothing(verb: str) -> None:
    admission = Admission(1, max_queue=1)
    assert getattr(admission, verb)(Ticket()) == []
    assert admission.active == 0


class Machine(RuleBasedStateMachine):
    """Any order of requests, ends and waits, against a list of who holds and who waits."""

    tickets = Bundle("tickets")

    @initialize(slots=st.integers(1, 4), queue=st.integers(0, 4), per_caller=st.none() | st.integers(1, 3))
    def begin(self, slots: int, queue: int, per_caller: int | None) -> None:
        self.admission = Admission(slots, max_queue=queue, max_per_caller=per_caller)
        self.max_queue, self.per_caller = queue, per_caller
        self.held: list[Ticket] = []
        self.queue: list[Ticket] = []
        self.now = 0.0
        self.closed = False

    def counts(self) -> Counter[str]:
        return Counter(ticket.caller for ticket in [*self.held, *self.queue])

    def take_in(self, granted: list[Ticket]) -> None:
        assert granted == self.queue[: len(granted)], "somebody was overtaken"
        del self.queue[: len(granted)]
        self.held += granted

    @rule(target=tickets, caller=st.sampled_from("abc"), wait_s=st.sampled_from([0.0, 1.0, 5.0, math.inf]))
    def request(self, caller: str, wait_s: float) -> Ticket:
        ticket = Ticket(caller)
        full = self.per_caller is not None and self.counts()[caller] >= self.per_caller
        free = len(self.held) < self.admission.max_sessions and not self.queue
        decision = self.admission.request(ticket, self.now, wait_s=wait_s)
        if self.closed or full:
            assert decision is Decision.REFUSED
        elif free:
            assert decision is Decision.ADMITTED
            self.held.append(ticket)
        elif wait_s > 0 and len(self.queue) < self.max_queue:
            assert decision is Decision.QUEUED
            self.queue.append(ticket)
        else:
            assert decision is Decision.REFUSED
        return ticket

    @rule(ticket=tickets, times=st.integers(1, 2))
    def release(self, ticket: Ticket, times: int) -> None:
        for _ in range(times):
            granted = self.admission.release(ticket)
            if ticket in self.held:
                self.held.remove(ticket)
                self.take_in(granted)
            else:
                assert granted == []

    @rule(ticket=tickets, times=st.integers(1, 2))
    def withdraw(self, ticket: Ticket, times: int) -> None:
        for _ in range(times):
            granted = self.admission.withdraw(ticket)
            if ticket in self.queue:
                self.queue.remove(ticket)
                assert granted == []
            elif ticket in self.held:
                self.held.remove(ticket)
                self.take_in(granted)
            else:
                assert granted == []

    @rule(ticket=consumes(tickets))
    def forget(self, ticket: Ticket) -> None:
        self.withdraw(ticket, 1)

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        late = [ticket for ticket in self.queue if ticket.deadline <= self.now]
        assert self.admission.expired(self.now) == late
        self.queue = [ticket for ticket in self.queue if ticket not in late]

    @rule(target=tickets, really=st.sampled_from([False, False, False, True]))
    def close(self, really: bool) -> object:
        if really:
            assert self.admission.close() == self.queue
            self.queue, self.closed = [], True
        return multiple()

    @invariant()
    def the_books_agree(self) -> None:
        admission = self.admission
        assert admission.active == len(self.held) <= admission.max_sessions
        assert admission.queued == len(self.queue) <= self.max_queue
        assert [admission.position(ticket) for ticket in self.queue] == list(range(1, len(self.queue) + 1))
        assert all(ticket.admitted for ticket in self.held)
        assert not any(ticket.admitted for ticket in self.queue)
        if self.queue:
            assert admission.active == admission.max_sessions, "a slot is free while somebody waits"
        if self.per_caller is not None:
            assert all(count <= self.per_caller for count in self.counts().values())


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
