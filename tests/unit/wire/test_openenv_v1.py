import json
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import (
    CapacityReachedError,
    EnvironmentFailedError,
    EpisodeOverError,
    InvalidJsonError,
    InvalidObservationError,
    OpenEnvError,
    ProtocolError,
    SessionLostError,
    UnknownTypeError,
    ValidationFailedError,
)
from openenv_core.types import StepResult
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.calls import Answer, V1Calls
from tests.unit.wire.samples import ACTIONS, JSON_VALUES, OBSERVATIONS, STATES, Guess, Seen, Story, surprises

READER = v1.RequestReader(Guess)


def answered(reply: bytes, *, observation_type: Any = Seen, state_type: Any = Story) -> Any:
    """What our own client makes of a reply."""
    calls = V1Calls(observation_type, state_type)
    calls.state(1, "")
    (event,) = calls.feed(reply.decode())
    assert isinstance(event, Answer)
    if event.error is not None:
        raise event.error
    return event.value


@given(ACTIONS)
def test_a_step_is_read_as_it_was_written(action: Guess) -> None:
    assert READER.read(v1.encode_step(action).decode()) == v1.Request("step", action)


@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3))
def test_the_options_of_a_reset_are_read_as_they_were_written(options: dict[str, Any]) -> None:
    assert READER.read(v1.encode_reset(options).decode()) == v1.Request("reset", options)


def test_the_short_requests() -> None:
    assert READER.read(v1.STATE_REQUEST.decode()) == v1.Request("state")
    assert READER.read(v1.CLOSE_REQUEST.decode()) == v1.Request("close")
    assert READER.read('{"type":"reset"}') == v1.Request("reset", {})
    assert READER.read('{"type":"mcp","data":{"method":"x"}}') == v1.Request("mcp", {"method": "x"})


@given(OBSERVATIONS)
def test_an_observation_arrives_equal_and_so_do_the_numbers_beside_it(seen: Seen) -> None:
    result = answered(v1.encode_observation(seen, truncated=seen.truncated))
    assert isinstance(result, StepResult)
    assert result.observation == seen
    assert (result.reward, result.done, result.truncated) == (seen.reward, seen.done, seen.truncated)
    assert (result.metadata or {}) == seen.metadata


@given(STATES)
def test_a_state_arrives_equal(state: Story) -> None:
    assert answered(v1.encode_state(state)) == state


def test_the_parts_of_an_observation_reply() -> None:
    reply = json.loads(v1.encode_observation(Seen(text="x", reward=1, metadata={"a": 1}, success=True), truncated=True))
    assert set(reply["data"]) == {"observation", "reward", "done", "metadata", "truncated", "success"}
    assert "reward" not in reply["data"]["observation"]
    assert reply["data"]["observation"]["metadata"] == reply["data"]["metadata"] == {"a": 1}
    bare = json.loads(v1.encode_observation(Seen(), truncated=False))
    assert set(bare["data"]) == {"observation", "reward", "done"}


@pytest.mark.parametrize("value", [b"\xff\x00", numpy.float32(1.5), numpy.arange(3), [{"deep": b"\xff"}], float("inf")])
def test_anything_may_be_in_the_metadata(value: Any) -> None:
    reply = json.loads(v1.encode_observation(Seen(metadata={"value": value}), truncated=False))
    assert reply["data"]["metadata"] == reply["data"]["observation"]["metadata"]


@pytest.mark.parametrize("value", [object(), "\udcff"])
@pytest.mark.parametrize("place", ["anything", "metadata"])
def test_what_has_no_json_form_is_refused(value: Any, place: str) -> None:
    seen = Seen(anything=value) if place == "anything" else Seen(metadata={"value": value})
    with pytest.raises(InvalidObservationError, match=place):
        v1.encode_observation(seen, truncated=False)


@pytest.mark.parametrize(
    ("message", "error", "says"),
    [
        (None, InvalidJsonError, "binary frame"),
        ("", InvalidJsonError, "Invalid JSON"),
        ("nothing", InvalidJsonError, "Invalid JSON"),
        ("[]", InvalidJsonError, "a frame is an object, not list"),
        ('[{"type":"state"}]', InvalidJsonError, "not list"),
        ("null", InvalidJsonError, "not NoneType"),
        ("[" * 100_000, InvalidJsonError, "Invalid JSON"),
        ("1" * 5_000, InvalidJsonError, "Invalid JSON"),
        ("{}", UnknownTypeError, "Unknown message type"),
        ('{"type":"stop"}', UnknownTypeError, "stop"),
        ('{"type":["step"]}', UnknownTypeError, "Unknown message type"),
        ('{"type":"\\ud800"}', UnknownTypeError, "Unknown message type"),
        ('{"type":"step"}', ValidationFailedError, "Invalid message"),
        ('{"type":"step","data":{}}', ValidationFailedError, "Invalid message"),
        ('{"type":"step","data":[]}', ValidationFailedError, "Invalid message"),
        ('{"type":"step","data":{"word":"refuse"}}', ValidationFailedError, "Invalid message"),
        ('{"type":"step","data":{"word":"x"},"more":1}', ValidationFailedError, "Invalid message"),
        ('{"type":"state","data":{}}', ValidationFailedError, "Invalid message"),
        ('{"type":"step","data":{"word":"\\ud800"}}', InvalidJsonError, "Invalid JSON"),
        (f'{{"type":"step","data":{{"word":{"[" * 500}1{"]" * 500}}}}}', InvalidJsonError, "Invalid JSON"),
        ('{"type":"step","data":{"word":"crash"}}', EnvironmentFailedError, "KeyError"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(message: str | None, error: type[OpenEnvError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        READER.read(message)
    assert type(caught.value) is error
    json.loads(v1.encode_error(caught.value))


@given(surprises() | st.binary(max_size=30))
def test_whatever_is_sent_is_a_request_or_a_typed_refusal_that_can_be_told(message: str | bytes) -> None:
    try:
        request = READER.read(message)
    except OpenEnvError as error:
        assert json.loads(v1.encode_error(error))["data"]["code"] == error.v1_code  # noqa: PT017 - nothing else is raised
    else:
        assert request.verb in {"reset", "step", "state", "close", "mcp"}


@given(surprises() | st.binary(max_size=30))
def test_whatever_a_server_says_is_a_reply_or_a_protocol_error(message: str | bytes) -> None:
    try:
        reply = v1.decode_reply(message)
    except ProtocolError:
        return
    assert isinstance(reply.data, dict)


@given(surprises())
def test_whatever_a_server_says_is_an_answer_or_a_typed_error(message: str) -> None:
    calls = V1Calls(Seen, Story)
    calls.step(1, "", Guess(word="x"), None)
    try:
        events = calls.feed(message)
    except OpenEnvError:
        return
    assert [type(event) for event in events] == [Answer]


@pytest.mark.parametrize(
    ("error", "code", "ours"),
    [
        (CapacityReachedError("full", active_sessions=1, max_sessions=1), "CAPACITY_REACHED", None),
        (EpisodeOverError("over"), "EXECUTION_ERROR", "EPISODE_OVER"),
        (SessionLostError("gone", reason="idle_timeout"), "SESSION_ERROR", "SESSION_LOST"),
        (ValidationFailedError("wrong", errors=[{"input": float("nan")}]), "VALIDATION_ERROR", None),
    ],
)
def test_an_error_has_a_code_of_this_version_and_arrives_in_its_own_class(
    error: OpenEnvError, code: str, ours: str | None
) -> None:
    data = json.loads(v1.encode_error(error))["data"]
    assert (data["code"], data.get("error")) == (code, ours)
    back = v1.error_of(data)
    assert type(back) is type(error)
    assert back.message == error.message


def test_a_session_error_of_any_server_means_that_the_session_is_gone() -> None:
    error = v1.error_of({"code": "SESSION_ERROR", "message": "Session was reaped"})
    assert isinstance(error, SessionLostError)
    assert error.reason == "closed"


def test_an_error_of_a_server_that_says_little_is_an_error_all_the_same() -> None:
    assert v1.error_of({}).message == "the server gave no reason"
