import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from openenv_core.errors import LossReason
from openenv_core.sessions.lease import Lease, LeaseState

IDLE_S, GRACE_S = 10.0, 4.0


def lease(*, resumable: bool = True) -> Lease:
    return Lease(0.0, idle_timeout_s=IDLE_S, resume_grace_s=GRACE_S if resumable else 0.0)


def test_an_unused_session_ends_after_the_idle_time() -> None:
    unused = lease()
    assert unused.due(9.9) is None
    assert unused.due(10.0) is LossReason.IDLE_TIMEOUT


def test_every_request_starts_the_idle_time_anew() -> None:
    used = lease()
    used.touch(9.0)
    assert used.due(18.9) is None
    used.begin(18.9)
    used.end(19.0)
    assert used.due(28.9) is None
    assert used.due(29.0) is LossReason.IDLE_TIMEOUT


def test_work_in_flight_is_never_idle() -> None:
    busy = lease()
    busy.begin(0.0)
    assert busy.due(1000.0) is None
    assert busy.idle_s(1000.0) == 0.0
    busy.end(1000.0)
    assert busy.due(1009.9) is None
    assert busy.idle_s(1003.0) == 3.0


def test_one_of_two_calls_that_ends_leaves_the_other_in_flight() -> None:
    busy = lease()
    busy.begin(0.0)
    busy.begin(1.0)
    busy.end(2.0)
    assert busy.due(1000.0) is None


def test_a_session_whose_client_is_away_is_kept_for_the_grace_time() -> None:
    away = lease()
    away.detach(1.0)
    assert away.state is LeaseState.DETACHED
    assert away.due(4.9) is None
    assert away.due(5.0) is LossReason.GRACE_EXPIRED


def test_the_grace_time_counts_also_while_a_call_runs() -> None:
    away = lease()
    away.begin(0.0)
    away.detach(1.0)
    assert away.due(5.0) is LossReason.GRACE_EXPIRED


def test_a_client_that_comes_back_finds_its_idle_time_started_anew() -> None:
    back = lease()
    back.detach(8.0)
    back.attach(11.0)
    assert (back.state, back.detached_since) == (LeaseState.ATTACHED, None)
    assert back.due(20.9) is None


def test_a_session_that_cannot_be_resumed_is_not_kept_at_all() -> None:
    away = lease(resumable=False)
    away.detach(1.0)
    assert away.due(1.0) is LossReason.DISCONNECTED


def test_the_grace_time_is_counted_from_the_first_detach() -> None:
    away = lease()
    away.detach(1.0)
    away.detach(4.0)
    assert away.due(5.0) is LossReason.GRACE_EXPIRED


def test_the_first_reason_stays() -> None:
    ended = lease()
    assert ended.close(LossReason.IDLE_TIMEOUT)
    assert not ended.close(LossReason.CLOSED)
    assert ended.reason is LossReason.IDLE_TIMEOUT


@pytest.mark.parametrize("verb", ["attach", "detach"])
def test_the_end_is_the_end(verb: str) -> None:
    ended = lease()
    ended.close(LossReason.CLOSED)
    getattr(ended, verb)(1.0)
    assert ended.state is LeaseState.CLOSED
    assert ended.due(1e9) is None


def test_the_time_that_a_client_may_be_away_can_change() -> None:
    lease = Lease(0.0, idle_timeout_s=100.0, resume_grace_s=60.0)
    lease.allow_away(5.0)
    lease.detach(10.0)
    assert lease.due(14.9) is None
    assert lease.due(15.0) is LossReason.GRACE_EXPIRED


class Machine(RuleBasedStateMachine):
    """Any order of requests, broken connections and silences, against what was promised."""

    @initialize(grace_s=st.sampled_from([0.0, 2.0, 5.0]))
    def begin(self, grace_s: float) -> None:
        self.now = self.last_used = 0.0
        self.grace_s = grace_s
        self.running = 0
        self.away_since: float | None = None
        self.reason: LossReason | None = None
        self.lease = Lease(0.0, idle_timeout_s=7.0, resume_grace_s=grace_s)

    @rule(seconds=st.sampled_from([0.0, 1.0, 3.0, 8.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def request_begins(self) -> None:
        self.lease.begin(self.now)
        self.running += 1
        self.last_used = self.now

    @precondition(lambda self: self.running)
    @rule()
    def request_ends(self) -> None:
        self.lease.end(self.now)
        self.running -= 1
        self.last_used = self.now

    @rule()
    def request_is_answered_at_once(self) -> None:
        self.lease.touch(self.now)
        self.last_used = self.now

    @rule()
    def connection_breaks(self) -> None:
        self.lease.detach(self.now)
        if self.reason is None and self.away_since is None:
            self.away_since = self.now

    @rule()
    def client_comes_back(self) -> None:
        self.lease.attach(self.now)
        if self.reason is None:
            self.away_since, self.last_used = None, self.now

    @rule(reason=st.sampled_from(LossReason))
    def session_ends(self, reason: LossReason) -> None:
        assert self.lease.close(reason) is (self.reason is None)
        self.reason = self.reason or reason

    @invariant()
    def what_is_due_is_what_was_promised(self) -> None:
        due = self.lease.due(self.now)
        if self.reason is not None:
            assert due is None
        elif self.away_since is not None:
            over = self.now - self.away_since >= self.grace_s
            expected = LossReason.GRACE_EXPIRED if self.grace_s else LossReason.DISCONNECTED
            assert due is (expected if over else None)
        elif self.running:
            assert due is None
        else:
            assert due is (LossReason.IDLE_TIMEOUT if self.now - self.last_used >= 7.0 else None)

    @invariant()
    def the_state_tells_the_truth(self) -> None:
        if self.reason is not None:
            assert (self.lease.state, self.lease.reason) == (LeaseState.CLOSED, self.reason)
        else:
            away = self.away_since is not None
            assert self.lease.state is (LeaseState.DETACHED if away else LeaseState.ATTACHED)
        assert self.lease.idle_s(self.now) == (0.0 if self.running else self.now - self.last_used)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
