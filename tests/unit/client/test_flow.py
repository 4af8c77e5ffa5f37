"""What a client decides, tried without a socket.

Longer than 400 lines: one script of what a server does serves all the cases.
"""

import pytest

from openenv_core.client._effects import ConnectionGoneError
from openenv_core.errors import (
    CallTimeoutError,
    CapacityReachedError,
    ConnectionFailedError,
    EnvironmentFactoryError,
    EnvironmentFailedError,
    EpisodeOverError,
    MessageTooLargeError,
    ProtocolError,
    SessionLostError,
    UnauthorizedError,
)
from openenv_core.wire.calls import V1Calls, V2Calls
from tests.support.journal import Act, Seen, WorldState
from tests.support.script import (
    GONE,
    SILENCE,
    Script,
    closed,
    failed,
    failed_v1,
    hello,
    observed,
    observed_v1,
    opened,
    queued,
    resumed,
    told,
)

UNREACHABLE = ConnectionFailedError("nobody is there")


def step(script: Script, timeout_s: float | None = None) -> int:
    result = script.run(script.flow.step(Act(), timeout_s))
    steps: int = result.observation.steps
    return steps


def reset(script: Script, **options: object) -> int:
    steps: int = script.run(script.flow.reset(options)).observation.steps
    return steps


def loss(script: Script, reason: str) -> SessionLostError:
    with pytest.raises(SessionLostError) as caught:
        step(script)
    assert caught.value.reason == reason
    return caught.value


def assert_it_stays_lost(script: Script, reason: str) -> None:
    """Until a reset, ``step`` and ``state`` say so, without a word to the server; a reset opens a new session."""
    script.forget()
    for _ in range(2):
        loss(script, reason)
        with pytest.raises(SessionLostError):
            script.run(script.flow.state())
    assert script.sent == []
    assert "Connect" not in script.effects
    if script.version == 2:
        greeting = [hello()] if not script.flow.connected else []
        script.expect(*greeting, opened("new"), observed(0))
        assert reset(script) == 0
        assert script.flow.session_id == "new"
    else:
        script.expect(observed_v1(0))
        assert reset(script) == 0
    assert script.flow.lost is None


# Opening


def test_nothing_is_done_before_it_is_needed() -> None:
    script = Script()
    assert script.flow.session_id is None
    assert not script.flow.connected


def test_a_session_is_opened_once() -> None:
    script = Script().expect(hello(), opened())
    script.run(script.flow.connect())
    assert script.effects == ["Connect", "Send", "Receive", "Receive"]
    assert script.sent[0]["data"] == {"wait_s": 0.0}
    assert script.flow.session_id == "s"
    assert script.flow.hello is not None
    script.run(script.flow.connect())
    assert len(script.sent) == 1


def test_the_first_call_opens_the_session_by_itself() -> None:
    script = Script().expect(hello(), opened(), observed(0))
    assert reset(script, seed=3) == 0
    assert script.kinds() == ["open", "reset"]
    assert script.sent[1]["data"] == {"seed": 3}
    assert (script.sent[1]["session"], script.sent[1]["id"] > script.sent[0]["id"]) == ("s", True)


def test_version_1_needs_no_opening() -> None:
    script = Script(version=1).expect(observed_v1(0))
    assert reset(script) == 0
    script.expect(observed_v1(1))
    assert step(script) == 1
    assert script.kinds() == ["reset", "step"]
    assert script.flow.session_id == ""


def test_a_full_server_is_told_of() -> None:
    script = Script().expect(hello(), failed(CapacityReachedError("full", active_sessions=1, max_sessions=1)))
    with pytest.raises(CapacityReachedError) as caught:
        reset(script)
    assert caught.value.details == {"active_sessions": 1, "max_sessions": 1}
    assert script.flow.session_id is None
    assert not script.flow.connected


def test_a_wait_for_a_slot_is_the_server_s_to_keep_and_the_place_is_told() -> None:
    script = Script(wait_for_capacity_s=30.0).expect(hello(), queued(2), queued(1), opened(), observed(0))
    assert reset(script) == 0
    assert script.sent[0]["data"]["wait_s"] == 30.0
    assert script.positions == [2, 1]


def test_with_version_1_a_wait_for_a_slot_is_asking_again() -> None:
    full = failed_v1(CapacityReachedError("full"))
    script = Script(version=1, wait_for_capacity_s=30.0).expect(full, full, observed_v1(0))
    assert reset(script) == 0
    assert script.effects.count("Connect") == 3
    assert script.effects.count("Sleep") == 2


def test_with_version_1_that_ends_with_the_wait() -> None:
    full = failed_v1(CapacityReachedError("full"))
    script = Script(version=1, wait_for_capacity_s=0.0).expect(full)
    with pytest.raises(CapacityReachedError):
        reset(script)
    assert not script.flow.connected


def test_an_environment_that_cannot_be_built_leaves_nothing_open() -> None:
    for version, answers in (
        (2, [hello(), failed(EnvironmentFactoryError("no"))]),
        (1, [failed_v1(EnvironmentFactoryError("no"))]),
    ):
        script = Script(version=version).expect(*answers)
        with pytest.raises(EnvironmentFactoryError):
            reset(script)
        assert not script.flow.connected
        assert script.flow.session_id is None


def test_a_server_that_cannot_be_reached_is_a_failed_connection_not_a_lost_session() -> None:
    script = Script().connects(UNREACHABLE)
    with pytest.raises(ConnectionFailedError):
        reset(script)
    assert script.flow.lost is None


def test_a_connection_that_breaks_before_the_session_is_open_is_tried_again() -> None:
    script = Script().expect(hello(), GONE, hello(), opened(), observed(0))
    assert reset(script) == 0
    assert script.kinds() == ["open", "open", "reset"]


def test_a_server_that_closes_before_the_session_is_open_means_it() -> None:
    script = Script().expect(hello(), ConnectionGoneError(1008, "not you"))
    with pytest.raises(ConnectionFailedError, match="not you"):
        reset(script)


def test_a_server_of_another_protocol_is_refused() -> None:
    script = Script().expect(lambda request: hello()(request).replace(b'"protocol": 2', b'"protocol": 99'))
    with pytest.raises(ProtocolError, match="protocol 99"):
        reset(script)


# A connection that breaks


def test_a_step_whose_connection_breaks_is_sent_again_under_its_own_id() -> None:
    script = Script().open().expect(GONE, hello(), resumed(), observed(1))
    assert step(script) == 1
    assert script.kinds() == ["step", "open", "step"]
    first, resume, again = script.sent
    assert first == again
    assert resume["data"] == {"wait_s": 0.0, "session": "s", "token": "token-s"}
    assert script.effects == ["Send", "Receive", "Drop", "Connect", "Send", "Receive", "Receive", "Send", "Receive"]


def test_it_is_mended_again_and_again() -> None:
    script = Script().open().expect(GONE, hello(), GONE, hello(), resumed(), GONE, hello(), resumed(), observed(1))
    assert step(script) == 1
    steps = [frame for frame in script.sent if frame["type"] == "step"]
    assert len(steps) == 3
    assert len({frame["id"] for frame in steps}) == 1


def test_a_server_that_is_away_for_a_moment_is_waited_for() -> None:
    script = Script(reconnect_timeout_s=30.0).open().connects(UNREACHABLE, UNREACHABLE)
    script.expect(GONE, hello(), resumed(), observed(1))
    assert step(script) == 1
    assert script.effects.count("Sleep") == 2
    assert 0 < script.now < 30.0


def test_a_server_that_stays_away_has_lost_the_session() -> None:
    script = Script(reconnect_timeout_s=5.0).open().connects(*[UNREACHABLE] * 100).expect(GONE)
    error = loss(script, "disconnected")
    assert "call reset" in error.message
    assert "within 5 s" in error.message
    assert str(UNREACHABLE.message) in error.message
    assert script.now <= 5.0
    assert script.kinds() == ["step"]
    script._connects.clear()
    assert_it_stays_lost(script, "disconnected")


def test_nobody_waits_longer_than_the_server_keeps_the_session() -> None:
    script = Script(reconnect_timeout_s=1000.0)
    script.expect(hello(resume_grace_s=3.0), opened())
    script.run(script.flow.connect())
    script.connects(*[UNREACHABLE] * 100).expect(GONE)
    loss(script, "disconnected")
    assert script.now <= 3.0


@pytest.mark.parametrize("reason", ["server_restarted", "grace_expired", "idle_timeout"])
def test_a_session_that_the_server_does_not_have_any_more_is_lost_with_its_reason(reason: str) -> None:
    script = Script().open().expect(GONE, hello(), failed(SessionLostError("gone", reason=reason)))
    loss(script, reason)
    assert script.kinds() == ["step", "open"], "the step must not be sent to another world"
    assert_it_stays_lost(script, reason)


def test_a_session_that_is_refused_to_this_client_is_not_mistaken_for_a_new_one() -> None:
    script = Script().open().expect(GONE, hello(), failed(UnauthorizedError("not yours")))
    with pytest.raises(UnauthorizedError):
        step(script)
    assert script.kinds() == ["step", "open"]


def test_a_server_that_came_back_with_another_protocol_has_lost_the_session() -> None:
    script = Script().open().connects(V1Calls(Seen, WorldState)).expect(GONE)
    loss(script, "disconnected")
    assert script.kinds() == ["step"]


def test_with_version_1_a_broken_connection_is_a_lost_session() -> None:
    script = Script(version=1).expect(observed_v1(0))
    reset(script)
    script.expect(GONE)
    loss(script, "disconnected")
    assert script.kinds() == ["reset", "step"]
    assert_it_stays_lost(script, "disconnected")


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        (ConnectionGoneError(4000, "idle_timeout"), "idle_timeout"),
        (ConnectionGoneError(1012, ""), "shutdown"),
        (ConnectionGoneError(1006, ""), "disconnected"),
        (ConnectionGoneError(1000, "goodbye"), "disconnected"),
    ],
)
def test_with_version_1_the_close_may_say_why(gone: ConnectionGoneError, reason: str) -> None:
    script = Script(version=1).expect(observed_v1(0))
    reset(script)
    script.expect(gone)
    loss(script, reason)


def test_a_reset_whose_connection_breaks_is_sent_again_too() -> None:
    script = Script().open().expect(GONE, hello(), resumed(), observed(0))
    assert reset(script) == 0
    assert script.kinds() == ["reset", "open", "reset"]
    assert script.sent[0] == script.sent[2]


# A session that ends


def test_a_session_that_ends_by_itself_is_lost_until_the_next_reset() -> None:
    script = Script().open().expect(told("idle_timeout"))
    loss(script, "idle_timeout")
    assert_it_stays_lost(script, "idle_timeout")


def test_an_answer_that_says_so_is_a_loss_too() -> None:
    script = Script().open().expect(failed(SessionLostError("gone", reason="step_deadline")))
    loss(script, "step_deadline")
    assert_it_stays_lost(script, "step_deadline")


def test_the_end_of_another_session_is_not_this_one_s() -> None:
    script = Script().open().expect(told("idle_timeout", session="other"), observed(1))
    assert step(script) == 1


def test_a_reset_of_a_session_that_is_gone_opens_a_new_one_at_once() -> None:
    script = Script().open().expect(failed(SessionLostError("gone", reason="idle_timeout")))
    script.expect(hello(), opened("new"), observed(0))
    assert reset(script) == 0
    assert script.flow.session_id == "new"
    assert script.kinds() == ["reset", "open", "reset"]


def test_a_reset_that_itself_brings_the_session_down_says_so() -> None:
    for reason in ("env_crashed", "step_deadline"):
        script = Script().open().expect(failed(SessionLostError("it crashed", reason=reason)))
        with pytest.raises(SessionLostError) as caught:
            reset(script)
        assert caught.value.reason == reason
        assert script.kinds() == ["reset"]


def test_other_errors_cost_nothing() -> None:
    script = Script().open()
    for error in (EpisodeOverError("over"), EnvironmentFailedError("it broke")):
        script.expect(failed(error))
        with pytest.raises(type(error)):
            step(script)
    script.expect(observed(1))
    assert step(script) == 1
    assert script.kinds() == ["step"] * 3


# Waiting


def test_a_call_that_is_not_answered_in_time_is_given_up_and_its_late_answer_dropped() -> None:
    script = Script(message_timeout_s=7.0).open().expect(SILENCE)
    with pytest.raises(CallTimeoutError, match="a larger message_timeout_s waits longer") as caught:
        step(script)
    assert script.now == 7.0
    assert caught.value.details == {"limit_s": 7.0}
    late = script.sent[0]["id"]
    assert script.sent[1] == {"id": late, "type": "cancel"}
    script.expect(observed(1, request_id=late), observed(2))
    assert step(script) == 2


def test_the_wait_is_for_the_answer_not_for_any_message() -> None:
    script = Script(message_timeout_s=7.0).open().expect(observed(9, request_id=1), SILENCE)
    with pytest.raises(CallTimeoutError):
        step(script)
    assert script.now == 7.0


def test_a_step_s_own_limit_goes_to_the_server_too() -> None:
    script = Script(message_timeout_s=7.0).open().expect(SILENCE)
    with pytest.raises(CallTimeoutError, match="a larger timeout_s waits longer"):
        step(script, timeout_s=20.0)
    assert script.sent[0]["timeout_s"] == 20.0
    assert script.now == 25.0


def test_with_version_1_a_late_answer_cannot_be_told_from_the_next() -> None:
    script = Script(version=1, message_timeout_s=7.0).expect(observed_v1(0))
    reset(script)
    script.expect(SILENCE)
    with pytest.raises(CallTimeoutError):
        step(script)
    assert_it_stays_lost(script, "disconnected")


def test_an_opening_that_is_not_answered_leaves_nothing_open() -> None:
    script = Script(message_timeout_s=7.0).expect(hello(), SILENCE)
    with pytest.raises(CallTimeoutError):
        reset(script)
    assert script.now == 7.0
    assert not script.flow.connected
    script.expect(hello(), opened(), observed(0))
    assert reset(script) == 0


def test_mending_a_connection_takes_no_longer_than_it_may() -> None:
    script = Script(reconnect_timeout_s=9.0, connect_timeout_s=2.0, message_timeout_s=60.0).open()
    script.expect(GONE, *[SILENCE] * 20)
    with pytest.raises(SessionLostError):
        script.run(script.flow.step(Act(), None), to_the_last=False)
    assert script.now <= 9.0 + 2.0


# Calls that are given up from outside


def test_the_answer_of_a_call_that_was_abandoned_meets_no_other_call() -> None:
    script = Script().open()
    script.run_until_waiting(script.flow.step(Act(), None)).close()
    abandoned = script.sent[0]["id"]
    script.forget().expect(observed(1, request_id=abandoned), observed(2))
    assert step(script) == 2
    assert script.sent[0] == {"id": abandoned, "type": "cancel"}


def test_with_version_1_a_call_that_was_abandoned_costs_the_session() -> None:
    script = Script(version=1).expect(observed_v1(0))
    reset(script)
    script.run_until_waiting(script.flow.step(Act(), None)).close()
    loss(script, "disconnected")
    assert not script.flow.connected
    assert_it_stays_lost(script, "disconnected")


def test_an_opening_that_was_abandoned_is_not_the_client_s() -> None:
    script = Script().expect(hello())
    script.run_until_waiting(script.flow.connect()).close()
    assert not script.flow.connected, "the driver drops the connection, and with it what may have been opened on it"
    script.forget().expect(hello(), opened("second"), observed(0))
    assert reset(script) == 0
    assert script.effects[0] == "Connect"


def test_mending_that_was_abandoned_is_taken_up_again() -> None:
    script = Script().open().expect(GONE, hello())
    script.run_until_waiting(script.flow.step(Act(), None)).close()
    assert not script.flow.connected
    script.forget().expect(hello(), resumed(), observed(1))
    assert step(script) == 1
    assert script.kinds() == ["open", "step"]


# Size


def test_a_request_that_the_server_would_refuse_is_not_sent() -> None:
    script = Script().open()
    with pytest.raises(MessageTooLargeError, match="the server takes at most 10000; nothing was sent") as caught:
        script.run(script.flow.step(Act(metadata={"fill": "x" * 10_000}), None))
    assert caught.value.details["limit"] == 10_000
    assert caught.value.details["size"] > 10_000
    assert script.sent == []
    script.expect(observed(1))
    assert step(script) == 1


def test_with_version_1_a_request_that_was_too_large_costs_the_session() -> None:
    script = Script(version=1).expect(observed_v1(0))
    reset(script)
    script.expect(ConnectionGoneError(1009, "over the limit"))
    with pytest.raises(MessageTooLargeError, match="over the limit"):
        step(script)
    script.forget()
    with pytest.raises(SessionLostError):
        step(script)
    assert script.sent == []


# Closing


def test_a_close_waits_until_the_slot_is_free_and_leaves_the_connection_to_the_next() -> None:
    script = Script().open().expect(closed())
    script.run(script.flow.close())
    assert script.kinds() == ["close"]
    assert script.effects[:3] == ["Send", "Receive", "Release"]
    assert script.flow.session_id is None
    assert_it_stays_lost(script, "closed")


def test_a_close_that_does_not_wait_says_its_word_and_goes() -> None:
    script = Script().open()
    script.run(script.flow.close(wait=False))
    assert script.kinds() == ["close"]
    assert "Receive" not in script.effects
    assert script.effects[-1] == "Drop"


def test_a_close_never_connects() -> None:
    never = Script()
    never.run(never.flow.close())
    assert never.effects == []
    broken = Script().open().expect(GONE)
    broken.run(broken.flow.close())
    assert "Connect" not in broken.effects
    lost = Script().open().expect(told("idle_timeout"))
    loss(lost, "idle_timeout")
    lost.forget().run(lost.flow.close())
    assert "Connect" not in lost.effects
    for script in (never, broken, lost):
        script.forget().run(script.flow.close())
        script.run(script.flow.close())
        assert script.effects == []


@pytest.mark.parametrize("trouble", [SILENCE, failed(UnauthorizedError("no")), failed(ProtocolError("what"))])
def test_a_close_never_fails(trouble: object) -> None:
    script = Script().open().expect(trouble)  # type: ignore[arg-type]
    script.run(script.flow.close())
    assert script.flow.session_id is None
    assert not script.flow.connected


def test_with_version_1_a_close_says_its_word_and_goes() -> None:
    script = Script(version=1).expect(observed_v1(0))
    reset(script)
    script.forget().run(script.flow.close())
    assert script.kinds() == ["close"]
    assert script.effects[-1] == "Drop"
    assert_it_stays_lost(script, "closed")


def test_ids_go_up_whatever_happens() -> None:
    script = Script().open().expect(observed(1))
    step(script)
    script.expect(GONE, hello(), resumed(), observed(2))
    step(script)
    script.expect(SILENCE)
    with pytest.raises(CallTimeoutError):
        script.run(script.flow.state())
    script.expect(observed(3))
    step(script)
    steps = [frame["id"] for frame in script.sent if frame["type"] in ("step", "state")]
    assert steps == sorted(steps)
    assert V2Calls.resumable
