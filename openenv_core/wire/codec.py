"""Bytes to frames and back, protocol version 2. Each direction is one pass, straight from bytes into types or back.

The frames of a step, the hot ones, are written by hand around the JSON of their payload; a test holds them to the
models of :mod:`openenv_core.wire.frames`.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from openenv_core.errors import (
    EnvironmentFailedError,
    InvalidJsonError,
    OpenEnvError,
    ProtocolError,
    UnknownTypeError,
    ValidationFailedError,
    error_from_wire,
    jsonable,
)
from openenv_core.wire.frames import (
    CancelFrame,
    ClientFrame,
    ClosedFrame,
    CloseFrame,
    ErrorData,
    ErrorFrame,
    HelloFrame,
    ObservationFrame,
    OpenedFrame,
    OpenFrame,
    QueuedFrame,
    ResetFrame,
    ResumedFrame,
    ServerFrame,
    StateFrame,
    StateRequestFrame,
    StepFrame,
)
from openenv_core.wire.values import model_json, parse_json, request_json

__all__ = [
    "BadFrame",
    "ClientCodec",
    "ServerCodec",
    "encode_error",
    "encode_frame",
    "encode_observation",
    "encode_state",
    "error_of",
    "join_frames",
    "observation_in",
]

_CLIENT_TYPES = frozenset({"open", "reset", "step", "state", "close", "cancel"})


class BadFrame(NamedTuple):
    """A frame that could not be read: the call and session it names, where they can be told, and what is wrong."""

    id: int | None
    session: str | None
    error: OpenEnvError
    type: Literal["bad"] = "bad"


def join_frames(frames: list[bytes]) -> bytes:
    """One message from one or more encoded frames."""
    return frames[0] if len(frames) == 1 else b"[" + b",".join(frames) + b"]"


def encode_frame(frame: BaseModel) -> bytes:
    """Any frame as JSON."""
    return frame.__pydantic_serializer__.to_json(frame, exclude_none=True)


def encode_observation(request_id: int, session: str, observation: Any, *, truncated: bool) -> bytes:
    """An :class:`ObservationFrame`.

    Args:
        truncated: the frame must say so, because the observation has no field of that name.

    Raises:
        InvalidObservationError: a field has no JSON form.
    """
    tail = b',"truncated":true}' if truncated else b"}"
    return b'{"id":%d,"session":%b,"type":"observation","data":%b%b' % (
        request_id,
        to_json(session),
        model_json(observation),
        tail,
    )


def observation_in(frame: bytes) -> bytes | None:
    """The observation in what :func:`encode_observation` made, as it stands there; ``None`` for another frame."""
    if not frame.startswith(b'{"id":'):
        return None
    head, mark, rest = frame.partition(b',"type":"observation","data":')
    if not mark or b'"data":' in head:
        return None
    tail = b',"truncated":true}'
    return rest[: -len(tail)] if rest.endswith(tail) else rest[:-1]


def encode_state(request_id: int, session: str, state: Any) -> bytes:
    """A :class:`StateFrame`. Raises ``InvalidObservationError`` as :func:`encode_observation` does."""
    return b'{"id":%d,"session":%b,"type":"state","data":%b}' % (request_id, to_json(session), model_json(state))


def encode_error(request_id: int | None, session: str | None, error: OpenEnvError) -> bytes:
    """An :class:`ErrorFrame`."""
    message, details = jsonable(error.message), jsonable(error.details)  # the environment's own words may be in them
    data = ErrorData(code=error.code, message=message, retryable=error.retryable, details=details)
    return encode_frame(ErrorFrame(id=request_id, session=session, data=data))


def error_of(frame: ErrorFrame) -> OpenEnvError:
    """The error that a frame carries, in its own class."""
    return error_from_wire(frame.data.code, frame.data.message, frame.data.details)


class ServerCodec:
    """Reads what clients send to an environment whose actions are of one type.

    Args:
        action_type: a model class, a union of them, or anything else pydantic reads.
    """

    def __init__(self, action_type: Any) -> None:
        frame = Annotated[
            OpenFrame | ResetFrame | StepFrame[action_type] | StateRequestFrame | CloseFrame | CancelFrame,
            Field(discriminator="type"),
        ]
        self._one: TypeAdapter[ClientFrame] = TypeAdapter(frame)
        self._many: TypeAdapter[list[ClientFrame]] = TypeAdapter(list[frame])

    def decode(self, message: str | bytes) -> list[ClientFrame | BadFrame]:
        """The frames of one message, in order; what cannot be read comes as :class:`BadFrame` in its place."""
        start = message[:1]
        try:
            if start in ("[", b"["):
                frames: list[ClientFrame | BadFrame] = list(self._many.validate_json(message))
                return frames or [BadFrame(None, None, InvalidJsonError("an empty array of frames"))]
            return [self._one.validate_json(message)]
        except Exception:  # noqa: BLE001 - the author's validators may raise anything; the second look tells it apart
            return list(self._decode_carefully(message))

    def _decode_carefully(self, message: str | bytes) -> Iterable[ClientFrame | BadFrame]:
        try:
            value = parse_json(message)
        except ValueError as error:
            return [BadFrame(None, None, InvalidJsonError(f"Invalid JSON: {error}"))]
        return [self._decode_value(item) for item in (value if isinstance(value, list) else [value])]

    def _decode_value(self, value: Any) -> ClientFrame | BadFrame:
        if not isinstance(value, dict):
            return BadFrame(None, None, InvalidJsonError(f"a frame is a JSON object, not {type(value).__name__}"))
        request_id, session, kind = value.get("id"), value.get("session"), value.get("type")
        if type(request_id) is not int:
            request_id = None
        if not isinstance(session, str):
            session = None
        if not isinstance(kind, str) or kind not in _CLIENT_TYPES:
            error: OpenEnvError = UnknownTypeError(f"Unknown message type: {kind if isinstance(kind, str) else ''}")
            return BadFrame(request_id, session, error)
        try:
            return self._one.validate_json(to_json(value))
        except ValidationError as invalid:
            error = ValidationFailedError.of(invalid, f"Invalid {kind} frame")
        except Exception as failure:  # noqa: BLE001 - the author's validators may raise anything
            error = EnvironmentFailedError(f"Invalid {kind} frame: the check of the action failed: {failure!r}")
        return BadFrame(request_id, session, error)


class ClientCodec:
    """Writes requests, and reads what a server sends, for one type of observation and of state.

    Args:
        observation_type, state_type: model classes; ``dict`` reads what comes as it is.
    """

    def __init__(self, observation_type: Any, state_type: Any) -> None:
        self._observation: TypeAdapter[Any] = TypeAdapter(observation_type)
        self._state: TypeAdapter[Any] = TypeAdapter(state_type)
        frame = Annotated[
            HelloFrame
            | OpenedFrame
            | ResumedFrame
            | QueuedFrame
            | ObservationFrame[observation_type]
            | StateFrame[state_type]
            | ClosedFrame
            | ErrorFrame,
            Field(discriminator="type"),
        ]
        self._one: TypeAdapter[ServerFrame] = TypeAdapter(frame)
        self._many: TypeAdapter[list[ServerFrame]] = TypeAdapter(list[frame])

    def decode(self, message: str | bytes) -> list[ServerFrame]:
        """The frames of one message. A field that this version does not know is ignored.

        Raises:
            ProtocolError: a frame lacks what this version needs; the message says what.
        """
        adapter: TypeAdapter[Any] = self._many if message[:1] in ("[", b"[") else self._one
        try:
            frames = adapter.validate_json(message)
        except ValidationError:
            # Only a newer server gets here; the first try keeps the extra fields of models that allow them.
            try:
                frames = adapter.validate_json(message, extra="ignore")
            except ValidationError as error:
                problem = ValidationFailedError.of(error, "the server's reply")
                raise ProtocolError(
                    f"{problem.message}. Is this client of the same version as the server?", **problem.details
                ) from None
        return frames if isinstance(frames, list) else [frames]

    def reset(self, request_id: int, session: str, options: dict[str, Any]) -> bytes:
        """A :class:`ResetFrame`. Raises as :meth:`step` does."""
        data = request_json(options, "an option of reset")
        return b'{"id":%d,"session":%b,"type":"reset","data":%b}' % (request_id, to_json(session), data)

    def step(self, request_id: int, session: str, action: Any, timeout_s: float | None = None) -> bytes:
        """A :class:`StepFrame`. ``action`` is a model, or a mapping.

        Raises:
            ValidationFailedError: the action has no JSON form.
        """
        limit = b"" if timeout_s is None else b',"timeout_s":%b' % to_json(timeout_s)
        return b'{"id":%d,"session":%b,"type":"step","data":%b%b}' % (
            request_id,
            to_json(session),
            request_json(action, "the action"),
            limit,
        )
