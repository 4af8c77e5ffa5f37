import json
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import (
    EnvironmentFailedError,
    InvalidJsonError,
    InvalidObservationError,
    OpenEnvError,
    ProtocolError,
    SessionLostError,
    UnknownTypeError,
    ValidationFailedError,
)
from openenv_core.wire.codec import (
    BadFrame,
    ClientCodec,
    ServerCodec,
    encode_error,
    encode_frame,
    encode_observation,
    encode_state,
    error_of,
    join_frames,
)
from openenv_core.wire.frames import ErrorFrame, ObservationFrame, StateFrame, StepFrame
from tests.unit.wire.samples import ACTIONS, OBSERVATIONS, STATES, Guess, Look, Move, Play, Seen, Story, surprises

SERVER = ServerCodec(Guess)
CLIENT = ClientCodec(Seen, Story)

IDS = st.integers(1, 2**53 - 1)
NAMES = st.text(min_size=1, max_size=20)


def frame_text(**fields: Any) -> str:
    return json.dumps({"id": 1, "session": "s", "type": "step", "data": {"word": "x"}, **fields})


def only_bad(message: str | bytes) -> BadFrame:
    (frame,) = SERVER.decode(message)
    assert isinstance(frame, BadFrame)
    return frame


@given(IDS, NAMES, OBSERVATIONS, st.booleans())
def test_an_observation_written_by_hand_is_what_its_frame_serializes_to(
    request_id: int, session: str, seen: Seen, truncated: bool
) -> None:
    by_hand = encode_observation(request_id, session, seen, truncated=truncated)
    frame = ObservationFrame[Seen](id=request_id, session=session, data=seen, truncated=truncated)
    spelled = json.loads(frame.model_dump_json())
    if not truncated:
        del spelled["truncated"]  # said only where the observation cannot say it itself
    assert json.loads(by_hand) == spelled
    assert CLIENT.decode(by_hand) == [frame]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("field", ["anything", "metadata"])
def test_what_is_nested_as_deeply_as_is_sent_is_read_and_one_level_more_is_refused_by_its_field(field: str) -> None:
    def seen(levels: int) -> Seen:
        return Seen(anything=nested(levels)) if field == "anything" else Seen(metadata={"a": nested(levels - 1)})

    message = encode_observation(1, "s", seen(197), truncated=False)
    for text in (message, join_frames([message, message])):
        assert CLIENT.decode(text)[0].data == seen(197)
    for levels in (198, 230):
        with pytest.raises(
            InvalidObservationError, match=f"Seen.{field} is nested more than 198 levels deep"
        ) as caught:
            encode_observation(1, "s", seen(levels), truncated=False)
        assert caught.value.details == {"field": field, "limit": 198}


def test_many_brackets_side_by_side_are_no_deep_nest() -> None:
    wide = Seen(anything=[[number, "[" * 300] for number in range(300)])
    assert CLIENT.decode(encode_observation(1, "s", wide, truncated=False))[0].data == wide


@given(IDS, NAMES, STATES)
def test_a_state_written_by_hand_is_what_its_frame_serializes_to(request_id: int, session: str, state: Story) -> None:
    by_hand = encode_state(request_id, session, state)
    frame = StateFrame[Story](id=request_id, session=session, data=state)
    assert json.loads(by_hand) == json.loads(frame.model_dump_json())
    assert CLIENT.decode(by_hand) == [frame]


@given(IDS, NAMES, ACTIONS, st.none() | st.floats(0.001, 1e6))
def test_a_step_written_by_hand_is_what_its_frame_serializes_to(
    request_id: int, session: str, action: Guess, timeout_s: float | None
) -> None:
    by_hand = CLIENT.step(request_id, session, action, timeout_s)
    frame = StepFrame[Guess](id=request_id, session=session, data=action, timeout_s=timeout_s)
    spelled = json.loads(frame.model_dump_json())
    if timeout_s is None:
        del spelled["timeout_s"]
    assert json.loads(by_hand) == spelled
    assert SERVER.decode(by_hand) == [frame]


def test_an_action_may_be_a_mapping_with_anything_in_it() -> None:
    message = CLIENT.step(1, "s", {"word": "x", "times": numpy.int64(3), "blob": b"\xff"})
    (frame,) = SERVER.decode(message)
    assert frame.type == "step"
    assert frame.data == Guess(word="x", times=3, blob=b"\xff")


@given(st.lists(ACTIONS, min_size=1, max_size=5))
def test_frames_that_travel_together_arrive_in_order(actions: list[Guess]) -> None:
    frames = [CLIENT.step(number, "s", action) for number, action in enumerate(actions, start=1)]
    read = SERVER.decode(join_frames(frames))
    assert [(frame.type, frame.id, frame.data) for frame in read if frame.type == "step"] == [
        ("step", number, action) for number, action in enumerate(actions, start=1)
    ]


def test_a_message_of_one_frame_is_not_an_array() -> None:
    assert join_frames([b"{}"]) == b"{}"
    assert join_frames([b"{}", b"{}"]) == b"[{},{}]"


def test_an_action_out_of_several_classes_is_read_as_the_one_that_it_is() -> None:
    codec = ServerCodec(Play)
    for action in (Look(where="up"), Move(where="up")):
        (frame,) = codec.decode(CLIENT.step(1, "s", action))
        assert frame.type == "step"
        assert type(frame.data) is type(action)
        assert frame.data == action


@pytest.mark.parametrize("message", ["", " ", "nothing", "[", "{", '{"id":1', "[}", "\x00", "\ud800", "[" * 100_000])
def test_what_is_not_json_is_answered_as_such(message: str) -> None:
    assert type(only_bad(message).error) is InvalidJsonError


@pytest.mark.parametrize("message", [b"\xff", b"\xed\xa0\x80", b'{"id":1,"type":"cancel\xff"}'])
def test_bytes_that_are_not_utf_8_are_not_json(message: bytes) -> None:
    assert type(only_bad(message).error) is InvalidJsonError


@pytest.mark.parametrize("message", ["null", "1", '"x"', "true", "[]", "[null]", "[[]]", "[[{}]]"])
def test_a_frame_is_an_object(message: str) -> None:
    assert type(only_bad(message).error) is InvalidJsonError


@pytest.mark.parametrize("kind", ["", "observation", "STEP", None, 1, [], ["step"], {"a": 1}, True])
def test_an_unknown_type_is_answered_under_the_id_that_it_came_with(kind: Any) -> None:
    bad = only_bad(frame_text(id=7, type=kind))
    assert type(bad.error) is UnknownTypeError
    assert (bad.id, bad.session) == (7, "s")


@pytest.mark.parametrize(
    ("fields", "culprit"),
    [
        ({"surprise": 1}, "surprise"),
        ({"data": {}}, "word"),
        ({"data": {"word": 5}}, "word"),
        ({"data": {"word": "x", "spelling": 1}}, "spelling"),
        ({"data": {"word": "refuse"}}, "this word is refused"),
        ({"data": None}, "data"),
        ({"session": ""}, "session"),
        ({"session": 5}, "session"),
        ({"id": 0}, "id"),
        ({"id": 2**60}, "id"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": "soon"}, "timeout_s"),
        ({"type": "open"}, "word"),
        ({"type": "reset", "data": []}, "data"),
        ({"type": "state"}, "data"),
    ],
)
def test_a_wrong_field_is_refused_by_name(fields: dict[str, Any], culprit: str) -> None:
    error = only_bad(frame_text(**fields)).error
    assert isinstance(error, ValidationFailedError)
    assert culprit in error.message


def test_a_validator_that_breaks_costs_its_own_call_only() -> None:
    message = f"[{frame_text(id=1, data={'word': 'crash'})},{frame_text(id=2)}]"
    bad, good = SERVER.decode(message)
    assert isinstance(bad, BadFrame)
    assert isinstance(bad.error, EnvironmentFailedError)
    assert "KeyError" in bad.error.message
    assert (bad.id, bad.session) == (1, "s")
    assert good.type == "step"


def test_one_bad_frame_among_good_ones_is_told_apart() -> None:
    message = f"[{frame_text(id=1)},5,{frame_text(id=2, surprise=1)},{frame_text(id=3)}]"
    kinds = [(frame.type, frame.id) for frame in SERVER.decode(message)]
    assert kinds == [("step", 1), ("bad", None), ("bad", 2), ("step", 3)]


@given(surprises() | st.binary(max_size=30))
def test_whatever_a_client_sends_is_a_frame_or_a_typed_refusal_that_can_be_told(message: str | bytes) -> None:
    for frame in SERVER.decode(message):
        if isinstance(frame, BadFrame):
            told = json.loads(encode_error(frame.id, frame.session, frame.error))
            assert told["data"]["code"] == frame.error.code
        else:
            assert SERVER.decode(encode_frame(frame)) == [frame]


@given(surprises() | st.binary(max_size=30))
def test_whatever_a_server_sends_is_frames_or_a_protocol_error(message: str | bytes) -> None:
    try:
        frames = CLIENT.decode(message)
    except ProtocolError:
        return
    assert isinstance(frames, list)


def test_what_a_newer_server_adds_is_ignored() -> None:
    frame = {"id": 1, "session": "s", "type": "observation", "data": {"text": "x", "mood": "good"}, "served_by": "v3"}
    (read,) = CLIENT.decode(json.dumps(frame))
    assert isinstance(read, ObservationFrame)
    assert read.data == Seen(text="x")


def test_what_a_newer_server_leaves_out_is_named() -> None:
    with pytest.raises(ProtocolError, match=r"'opened\.data\.token'.*same version as the server"):
        CLIENT.decode('{"id":1,"session":"s","type":"opened","data":{}}')


def test_an_observation_that_has_no_json_form_is_refused() -> None:
    with pytest.raises(InvalidObservationError, match=r"Seen\.anything"):
        encode_observation(1, "s", Seen(anything=object()), truncated=False)
    with pytest.raises(InvalidObservationError, match=r"Story\.secret"):
        encode_state(1, "s", Story.model_validate({"secret": "\udcff"}))


@pytest.mark.parametrize(
    "error",
    [
        SessionLostError("gone", reason="idle_timeout", idle_s=5.0),
        ValidationFailedError("wrong", errors=[{"input": float("nan")}]),
        EnvironmentFailedError("half a pair: \udcff", where=object()),
        OpenEnvError("plain"),
    ],
)
def test_an_error_arrives_in_its_own_class(error: OpenEnvError) -> None:
    (frame,) = CLIENT.decode(encode_error(4, "s", error))
    assert isinstance(frame, ErrorFrame)
    back = error_of(frame)
    assert type(back) is type(error)
    assert back.message.isprintable()
    assert set(back.details) - {"code"} == set(error.details)
    assert frame.data.retryable == error.retryable


def test_plain_clients_get_plain_values() -> None:
    codec = ClientCodec(dict, dict)
    (read,) = codec.decode(encode_observation(1, "s", Seen(text="x", reward=1), truncated=False))
    assert isinstance(read, ObservationFrame)
    assert read.data["text"] == "x"
    assert read.data["reward"] == 1
