from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from openenv_core.sessions.replies import Known, ReplyMemory


def test_a_request_that_is_sent_again_is_answered_from_memory() -> None:
    memory: ReplyMemory[str] = ReplyMemory()
    assert memory.look_up(1) is Known.FRESH
    memory.begin(1)
    assert memory.look_up(1) is Known.RUNNING
    memory.finish(1, "one")
    assert memory.look_up(1) is Known.ANSWERED
    assert memory.last_reply == "one"


def test_ids_may_leave_gaps() -> None:
    memory: ReplyMemory[str] = ReplyMemory()
    memory.answered_at_once(5, "five")
    assert memory.look_up(4) is Known.STALE
    assert memory.look_up(9) is Known.FRESH


def test_an_older_reply_is_forgotten_and_said_to_be() -> None:
    memory: ReplyMemory[str] = ReplyMemory()
    memory.answered_at_once(1, "one")
    memory.answered_at_once(2, "two")
    assert memory.look_up(1) is Known.STALE
    assert memory.look_up(2) is Known.ANSWERED


def test_a_later_request_in_flight_does_not_hide_the_last_reply() -> None:
    memory: ReplyMemory[str] = ReplyMemory()
    memory.answered_at_once(1, "one")
    memory.begin(2)
    assert memory.look_up(1) is Known.ANSWERED
    assert memory.in_flight == 1


class Machine(RuleBasedStateMachine):
    """Any order of requests and ends: a request runs once, whatever is sent again."""

    @initialize()
    def begin(self) -> None:
        self.memory: ReplyMemory[str] = ReplyMemory()
        self.ran: list[int] = []
        self.running: list[int] = []
        self.replied = 0

    @rule(step=st.integers(1, 3), at_once=st.booleans())
    def new_request(self, step: int, at_once: bool) -> None:
        request_id = self.memory.last_id + step
        assert self.memory.look_up(request_id) is Known.FRESH
        self.ran.append(request_id)
        if at_once:
            self.memory.answered_at_once(request_id, str(request_id))
            self.replied = request_id
        else:
            self.memory.begin(request_id)
            self.running.append(request_id)

    @precondition(lambda self: self.running)
    @rule()
    def oldest_ends(self) -> None:
        request_id = self.running.pop(0)
        self.memory.finish(request_id, str(request_id))
        self.replied = request_id

    @precondition(lambda self: self.ran)
    @rule(data=st.data())
    def sent_again(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(self.ran))
        known = self.memory.look_up(request_id)
        assert known is not Known.FRESH, "it would run twice"
        if request_id in self.running:
            assert known is Known.RUNNING
        elif request_id == self.replied:
            assert known is Known.ANSWERED
            assert self.memory.last_reply == str(request_id)
        else:
            assert known is Known.STALE

    @invariant()
    def the_numbers_agree(self) -> None:
        assert self.memory.in_flight == len(self.running)
        assert self.memory.last_id == max(self.ran, default=0)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
