import json
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import (
    CapacityReachedError,
    EpisodeOverError,
    OpenEnvError,
    ProtocolError,
    SessionLostError,
    ValidationFailedError,
)
from openenv_core.tools import CallToolObservation, ToolObservation
from openenv_core.types import StepResult
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.calls import Answer, Calls, Event, Greeting, Loss, Opened, Position, V1Calls, V2Calls
from openenv_core.wire.codec import ServerCodec, encode_error, encode_observation, encode_state
from tests.unit.wire.samples import ACTIONS, OBSERVATIONS, STATES, Guess, Seen, Story, surprises


def v2() -> V2Calls:
    return V2Calls(Seen, Story)


def one(calls: Calls, message: str | bytes | dict[str, Any]) -> Event:
    text = json.dumps(message) if isinstance(message, dict) else message
    (event,) = calls.feed(text)
    return event


@given(ACTIONS, st.integers(1, 10**9), st.text(min_size=1, max_size=9))
def test_requests_are_what_the_server_reads(action: Guess, request_id: int, session: str) -> None:
    calls, codec = v2(), ServerCodec(Guess)
    messages = [
        calls.open(request_id, 5.0),
        calls.resume(request_id, Opened(session, "token")),
        calls.reset(request_id, session, {"seed": 3}),
        calls.step(request_id, session, action, 2.5),
        calls.state(request_id, session),
        calls.close(request_id, session),
        calls.cancel(request_id),
    ]
    read = [frame for message in messages for frame in codec.decode(message)]
    assert [frame.type for frame in read] == ["open", "open", "reset", "step", "state", "close", "cancel"]
    assert {frame.id for frame in read} == {request_id}
    first, second, reset, step, *_ = read
    assert first.type == second.type == "open"
    assert (first.data.wait_s, second.data.session, second.data.token) == (5.0, session, "token")
    assert reset.type == "reset"
    assert reset.data == {"seed": 3}
    assert step.type == "step"
    assert (step.data, step.timeout_s) == (action, 2.5)


@given(OBSERVATIONS)
def test_an_observation_is_a_result_whose_numbers_agree_with_it(seen: Seen) -> None:
    event = one(v2(), encode_observation(3, "s", seen, truncated=False))
    assert event == Answer(3, StepResult(seen, seen.reward, seen.done, seen.truncated, seen.metadata))


@given(STATES)
def test_a_state_is_an_answer(state: Story) -> None:
    assert one(v2(), encode_state(3, "s", state)) == Answer(3, state)


def test_a_cut_that_the_observation_cannot_tell_is_told_by_the_frame() -> None:
    plain = {"id": 1, "session": "s", "type": "observation", "data": {"done": True}, "truncated": True}
    event = one(V2Calls(dict, dict), plain)
    assert isinstance(event, Answer)
    assert (event.value.done, event.value.truncated, event.value.terminated) == (True, True, False)


def test_plain_observations_carry_no_number_twice_and_keep_what_a_result_has_no_place_for() -> None:
    seen = Seen(text="x", reward=0.5, done=True, success=True, metadata={"a": 1})
    of_v2 = one(V2Calls(dict, dict), encode_observation(1, "s", seen, truncated=False))
    calls = V1Calls(dict, dict)
    calls.state(1, "")
    of_v1 = one(calls, v1.encode_observation(seen, truncated=False))
    for event in (of_v1, of_v2):
        assert isinstance(event, Answer)
        result = event.value
        assert (result.reward, result.done, result.truncated, result.metadata) == (0.5, True, False, {"a": 1})
        assert result.observation["text"] == "x"
        assert result.observation["success"] is True
        assert not {"reward", "done", "truncated"} & set(result.observation)


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ({"id": 1, "session": "s", "type": "opened", "data": {"token": "t"}}, Answer(1, Opened("s", "t"))),
        ({"id": 1, "session": "s", "type": "resumed", "data": {"last_id": 4}}, Answer(1, None)),
        ({"id": 1, "type": "queued", "data": {"position": 2}}, Position(1, 2)),
        ({"id": 1, "session": "s", "type": "closed", "data": {"reason": "closed", "message": "m"}}, Answer(1, None)),
    ],
)
def test_what_the_other_frames_mean(message: dict[str, Any], event: Event) -> None:
    assert one(v2(), message) == event


def test_an_error_answers_its_own_request() -> None:
    event = one(v2(), encode_error(9, "s", EpisodeOverError("over")))
    assert isinstance(event, Answer)
    assert (event.id, type(event.error)) == (9, EpisodeOverError)


def test_an_end_that_nobody_asked_for_is_a_loss_with_its_reason() -> None:
    message = {"session": "s", "type": "closed", "data": {"reason": "idle_timeout", "message": "nobody used it"}}
    event = one(v2(), message)
    assert isinstance(event, Loss)
    assert (event.session, event.error.reason) == ("s", "idle_timeout")
    told = one(v2(), encode_error(None, "s", SessionLostError("gone", reason="shutdown")))
    assert isinstance(told, Loss)
    assert told.error.reason == "shutdown"


def test_an_error_about_no_request_is_raised() -> None:
    with pytest.raises(ProtocolError, match="what was that"):
        v2().feed(encode_error(None, None, ProtocolError("what was that")))


def hello(protocol: int) -> dict[str, Any]:
    limits = {"max_message_bytes": 9, "step_deadline_s": 1, "idle_timeout_s": 1, "resume_grace_s": 1}
    capacity = {"active": 0, "max": 1, "queued": 0}
    data = {"protocol": protocol, "server": "openenv-core/9", "env_name": "e", "limits": limits, "capacity": capacity}
    return {"type": "hello", "data": data}


def test_the_greeting_is_kept() -> None:
    event = one(v2(), hello(2))
    assert isinstance(event, Greeting)
    assert event.hello.limits.max_message_bytes == 9


def test_a_server_of_another_protocol_is_refused_with_both_versions() -> None:
    with pytest.raises(ProtocolError, match=r"openenv-core/9 speaks protocol 99 and this client speaks 2") as caught:
        v2().feed(json.dumps(hello(99)))
    assert caught.value.details == {"server": 99, "client": 2}


def test_several_frames_in_one_message_are_several_events_in_order() -> None:
    frames = [encode_state(2, "s", Story()), encode_error(1, "s", EpisodeOverError("over"))]
    events = v2().feed(b"[" + b",".join(frames) + b"]")
    assert [event.id for event in events if isinstance(event, Answer)] == [2, 1]


@given(surprises() | st.binary(max_size=30))
def test_whatever_a_server_says_is_events_or_a_typed_error(message: str | bytes) -> None:
    try:
        events = v2().feed(message)
    except OpenEnvError:
        return
    assert all(isinstance(event, Answer | Loss | Position | Greeting) for event in events)


@pytest.mark.parametrize("calls", [V1Calls(Seen, Story), v2()], ids=["v1", "v2"])
def test_what_has_no_json_form_is_refused_before_it_is_sent(calls: Calls) -> None:
    with pytest.raises(ValidationFailedError, match="nothing was sent"):
        calls.reset(1, "s", {"board": object()})
    with pytest.raises(ValidationFailedError, match=r"Guess\.metadata.*nothing was sent"):
        calls.step(1, "s", Guess(word="x", metadata={"a": object()}), None)
    assert b'"seed":3' in calls.reset(1, "s", {"seed": numpy.int64(3)})


def test_version_1_has_no_word_for_opening_resuming_and_cancelling() -> None:
    calls: Calls = V1Calls(Seen, Story)
    assert calls.open(1, 5.0) is None
    assert calls.cancel(1) is None
    with pytest.raises(ProtocolError, match="cannot be resumed"):
        calls.resume(1, Opened("s", "t"))
    assert (calls.resumable, calls.ordered) == (False, True)


def test_version_1_matches_the_one_answer_to_the_one_request() -> None:
    calls = V1Calls(Seen, Story)
    calls.step(7, "", Guess(word="x"), None)
    assert one(calls, v1.encode_observation(Seen(text="x"), truncated=False)) == Answer(
        7, StepResult(Seen(text="x"), metadata=None)
    )
    with pytest.raises(ProtocolError, match="nobody asked for"):
        calls.feed(v1.encode_observation(Seen(text="x"), truncated=False))


def test_version_1_tells_an_end_that_nobody_asked_for() -> None:
    event = one(V1Calls(Seen, Story), v1.encode_error(SessionLostError("gone", reason="idle_timeout")))
    assert isinstance(event, Loss)
    assert event.error.reason == "idle_timeout"
    with pytest.raises(CapacityReachedError):
        V1Calls(Seen, Story).feed(v1.encode_error(CapacityReachedError("full")))


@pytest.mark.parametrize(
    "reply",
    [
        {"type": "observation", "data": {"observation": {"text": 5}}},
        {"type": "state", "data": {"step_count": -1}},
    ],
)
def test_a_reply_that_does_not_fit_the_client_s_models_is_an_error_of_that_call(reply: dict[str, Any]) -> None:
    calls = V1Calls(Seen, Story)
    calls.state(1, "")
    event = one(calls, reply)
    assert isinstance(event, Answer)
    assert isinstance(event.error, ValidationFailedError)
    assert "the server's reply" in event.error.message


@pytest.mark.parametrize("reply", [{"type": "observation", "data": {}}, {"type": "closed", "data": {}}])
def test_a_reply_that_answers_nothing_is_a_protocol_error(reply: dict[str, Any]) -> None:
    calls = V1Calls(Seen, Story)
    calls.state(1, "")
    with pytest.raises(ProtocolError):
        calls.feed(json.dumps(reply))


def test_version_1_ignores_what_a_newer_server_adds() -> None:
    calls = V1Calls(Seen, Story)
    calls.state(1, "")
    reply = {"type": "observation", "data": {"observation": {"text": "x", "mood": "good"}, "reward": 1, "served_by": 3}}
    event = one(calls, reply)
    assert isinstance(event, Answer)
    assert event.value.observation == Seen(text="x", reward=1)


def test_version_1_keeps_what_stands_beside_an_observation_that_is_one_of_several() -> None:
    calls = V1Calls(ToolObservation, Story)
    sent = CallToolObservation(tool_name="look", reward=0.5, done=True, truncated=True, success=False)
    calls.step(1, "s", {"tool_name": "look"}, None)
    event = one(calls, v1.encode_observation(sent, truncated=True))
    assert isinstance(event, Answer)
    assert event.value.observation == sent
    assert (event.value.reward, event.value.done) == (0.5, True)
