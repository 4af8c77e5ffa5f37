import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from openenv_core.errors import LossReason
from openenv_core.wire import frames
from openenv_core.wire.codec import ClientCodec, ServerCodec, encode_frame
from openenv_core.wire.frames import (
    CancelFrame,
    Capacity,
    ClosedData,
    ClosedFrame,
    CloseFrame,
    ErrorData,
    ErrorFrame,
    HelloData,
    HelloFrame,
    Limits,
    ObservationFrame,
    OpenData,
    OpenedData,
    OpenedFrame,
    OpenFrame,
    QueuedData,
    QueuedFrame,
    ResetFrame,
    ResumedData,
    ResumedFrame,
    StateFrame,
    StateRequestFrame,
    StepFrame,
)
from tests.unit.wire.samples import ACTIONS, JSON_VALUES, OBSERVATIONS, STATES, Guess, Seen, Story

IDS = st.integers(1, 2**53 - 1)
NAMES = st.text(min_size=1, max_size=20)
OPTIONS = st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3)
LIMITS = st.none() | st.floats(min_value=0, exclude_min=True, allow_infinity=False)
COUNTS = st.integers(0, 2**53)
SECONDS = st.floats(0, 1e9)

CLIENT_FRAMES: dict[type[Any], st.SearchStrategy[Any]] = {
    OpenFrame: st.builds(
        OpenFrame,
        id=IDS,
        data=st.builds(OpenData, wait_s=st.floats(0, 86400), session=st.none() | NAMES, token=st.none() | NAMES),
    ),
    ResetFrame: st.builds(ResetFrame, id=IDS, session=NAMES, data=OPTIONS, timeout_s=LIMITS),
    StepFrame: st.builds(StepFrame[Guess], id=IDS, session=NAMES, data=ACTIONS, timeout_s=LIMITS),
    StateRequestFrame: st.builds(StateRequestFrame, id=IDS, session=NAMES, timeout_s=LIMITS),
    CloseFrame: st.builds(CloseFrame, id=IDS, session=NAMES),
    CancelFrame: st.builds(CancelFrame, id=IDS),
}
SERVER_FRAMES: dict[type[Any], st.SearchStrategy[Any]] = {
    HelloFrame: st.builds(
        HelloFrame,
        data=st.builds(
            HelloData,
            protocol=st.just(2),
            server=st.text(),
            env_name=st.text(),
            limits=st.builds(
                Limits,
                max_message_bytes=COUNTS,
                step_deadline_s=SECONDS,
                idle_timeout_s=SECONDS,
                resume_grace_s=SECONDS,
            ),
            capacity=st.builds(Capacity, active=COUNTS, max=COUNTS, queued=COUNTS),
        ),
    ),
    OpenedFrame: st.builds(OpenedFrame, id=IDS, session=NAMES, data=st.builds(OpenedData, token=st.text())),
    ResumedFrame: st.builds(ResumedFrame, id=IDS, session=NAMES, data=st.builds(ResumedData, last_id=COUNTS)),
    QueuedFrame: st.builds(QueuedFrame, id=IDS, data=st.builds(QueuedData, position=COUNTS)),
    ObservationFrame: st.builds(
        ObservationFrame[Seen], id=IDS, session=NAMES, data=OBSERVATIONS, truncated=st.booleans()
    ),
    StateFrame: st.builds(StateFrame[Story], id=IDS, session=NAMES, data=STATES),
    ClosedFrame: st.builds(
        ClosedFrame,
        id=st.none() | IDS,
        session=NAMES,
        data=st.builds(ClosedData, reason=st.sampled_from(LossReason).map(str), message=st.text()),
    ),
    ErrorFrame: st.builds(
        ErrorFrame,
        id=st.none() | IDS,
        session=st.none() | NAMES,
        data=st.builds(ErrorData, code=st.text(), message=st.text(), retryable=st.booleans(), details=OPTIONS),
    ),
}

SERVER = ServerCodec(Guess)
CLIENT = ClientCodec(Seen, Story)


def kinds(union: Any) -> set[type[Any]]:
    """The frame classes of a union, generic ones without their argument."""
    return {cls.__pydantic_generic_metadata__["origin"] or cls for cls in typing.get_args(union)}


def test_every_frame_is_tried_here() -> None:
    assert kinds(frames.ClientFrame) == set(CLIENT_FRAMES)
    assert kinds(frames.ServerFrame) == set(SERVER_FRAMES)


@pytest.mark.parametrize("cls", CLIENT_FRAMES, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_what_a_client_sends_a_server_reads(cls: type[Any], data: st.DataObject) -> None:
    frame = data.draw(CLIENT_FRAMES[cls])
    assert SERVER.decode(encode_frame(frame)) == [frame]
    assert SERVER.decode(encode_frame(frame).decode()) == [frame]


@pytest.mark.parametrize("cls", SERVER_FRAMES, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_what_a_server_sends_a_client_reads(cls: type[Any], data: st.DataObject) -> None:
    frame = data.draw(SERVER_FRAMES[cls])
    assert CLIENT.decode(encode_frame(frame)) == [frame]


@pytest.mark.parametrize("request_id", [0, -1, 2**53, 1.5, True, "x", None])
def test_a_request_id_is_an_integer_that_every_reader_keeps_exact(request_id: Any) -> None:
    with pytest.raises(ValidationError, match="id"):
        TypeAdapter(CancelFrame).validate_python({"id": request_id, "type": "cancel"}, strict=True)


@pytest.mark.parametrize("wait_s", [-1, 86401, float("nan"), float("inf")])
def test_a_wait_is_bounded(wait_s: float) -> None:
    with pytest.raises(ValidationError, match="wait_s"):
        OpenData(wait_s=wait_s)


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_positive_number(timeout_s: float) -> None:
    with pytest.raises(ValidationError, match="timeout_s"):
        StateRequestFrame(id=1, session="s", timeout_s=timeout_s)
