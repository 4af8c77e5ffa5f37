"""Protocol version 1: the public OpenEnv protocol, as the ``openenv`` package speaks it on ``/ws``.

One text frame holds one JSON object. A request gets one reply, strictly in order; there are no ids and no greeting.
Mended where no honest client can depend on the fault: JSON that is not an object and a binary frame are error replies
and do not end the session; error lists always serialize; numpy values and bytes have an encoding.
"""

import json
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from openenv_core.errors import (
    EnvironmentFailedError,
    InvalidJsonError,
    OpenEnvError,
    ProtocolError,
    SessionLostError,
    UnknownTypeError,
    ValidationFailedError,
    error_from_wire,
    jsonable,
    jsonable_problems,
)
from openenv_core.wire.values import LEGACY, model_json, request_json, value_json

__all__ = [
    "CLOSE_REQUEST",
    "LIFTED",
    "STATE_REQUEST",
    "Reply",
    "Request",
    "RequestReader",
    "decode_reply",
    "encode_error",
    "encode_observation",
    "encode_reset",
    "encode_state",
    "encode_step",
    "observation_data",
]

LIFTED = frozenset({"reward", "done", "truncated", "success"})
"""Fields of an observation that travel beside it; ``metadata`` travels inside it, and beside it when not empty."""

_LIFTED: set[str] = set(LIFTED)

Verb = Literal["reset", "step", "state", "close", "mcp"]

STATE_REQUEST = b'{"type":"state"}'
CLOSE_REQUEST = b'{"type":"close"}'


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Reset(_Request):
    type: Literal["reset"]
    data: dict[str, Any] = {}


class _Step(_Request):
    type: Literal["step"]
    data: dict[str, Any]


class _State(_Request):
    type: Literal["state"]


class _Close(_Request):
    type: Literal["close"]


class _Mcp(_Request):
    type: Literal["mcp"]
    data: dict[str, Any]


_REQUESTS: dict[str, type[_Request]] = {
    "reset": _Reset,
    "step": _Step,
    "state": _State,
    "close": _Close,
    "mcp": _Mcp,
}


class Request(NamedTuple):
    """One request: the verb, and the reset options, the typed action or the JSON-RPC request."""

    verb: Verb
    data: Any = None


class RequestReader:
    """Reads what clients send to an environment whose actions are of one type."""

    def __init__(self, action_type: Any) -> None:
        self._action: TypeAdapter[Any] = TypeAdapter(action_type)
        step = type("_TypedStep", (_Request,), {"__annotations__": {"type": Literal["step"], "data": action_type}})
        self._step: TypeAdapter[Any] = TypeAdapter(step)

    def read(self, message: str | bytes | None) -> Request:
        """One message as a request.

        Args:
            message: the text of the frame; ``None`` stands for a binary frame.

        Raises:
            InvalidJsonError, UnknownTypeError, ValidationFailedError: what the error reply has to say.
        """
        if message is None:
            raise InvalidJsonError("Invalid JSON: a binary frame; send text")
        try:
            # Steps are nearly all of the traffic: one pass straight into the action's type.
            return Request("step", self._step.validate_json(message).data)
        except Exception:  # noqa: BLE001 - the author's validators may raise anything; the second look tells it apart
            return self._read_carefully(message)

    def _read_carefully(self, message: str | bytes) -> Request:
        try:
            value = json.loads(message)
        except (ValueError, RecursionError) as error:
            raise InvalidJsonError(f"Invalid JSON: {error}") from None
        if not isinstance(value, dict):
            raise InvalidJsonError(f"Invalid JSON: a frame is an object, not {type(value).__name__}")
        kind = value.get("type", "")
        model = _REQUESTS.get(kind) if isinstance(kind, str) else None
        if model is None:
            raise UnknownTypeError(f"Unknown message type: {kind}")
        try:
            request = model.model_validate(value)
        except ValidationError as error:
            raise ValidationFailedError("Invalid message", errors=jsonable_problems(error)) from None
        if isinstance(request, _Step):
            return Request("step", self.action(request.data))
        return Request(kind, getattr(request, "data", None))

    def action(self, data: Any) -> Any:
        """The typed action that JSON values amount to.

        Raises:
            ValidationFailedError: they do not fit the action's type.
            InvalidJsonError: they are nested too deeply, or hold half a surrogate pair.
            EnvironmentFailedError: the action's own validators failed in another way than by refusing.
        """
        try:
            text = to_json(data)
        except (PydanticSerializationError, RecursionError) as error:
            raise InvalidJsonError(f"Invalid JSON: {error}") from None
        try:
            return self._action.validate_json(text)
        except ValidationError as error:
            raise ValidationFailedError("Invalid message", errors=jsonable_problems(error)) from None
        except Exception as error:
            raise EnvironmentFailedError(f"the check of the action failed: {error!r}") from error


def observation_data(observation: Any, *, truncated: bool) -> bytes:
    """The ``data`` of an observation reply: observation, reward, done, and what else there is to say.

    Args:
        truncated: a limit outside the task cut the episode.

    Raises:
        InvalidObservationError: a field has no JSON form.
    """
    metadata = getattr(observation, "metadata", None)
    parts = [
        b'{"observation":',
        model_json(observation, exclude=_LIFTED, context=LEGACY),
        b',"reward":',
        to_json(observation.reward),
        b',"done":true' if observation.done else b',"done":false',
    ]
    if metadata:
        parts += [b',"metadata":', value_json(metadata, "metadata")]
    if truncated:
        parts.append(b',"truncated":true')
    success = getattr(observation, "success", None)
    if success is not None:
        parts.append(b',"success":true' if success else b',"success":false')
    parts.append(b"}")
    return b"".join(parts)


def encode_observation(observation: Any, *, truncated: bool) -> bytes:
    """An observation reply. Raises as :func:`observation_data` does."""
    return b'{"type":"observation","data":%b}' % observation_data(observation, truncated=truncated)


def encode_state(state: Any) -> bytes:
    """A state reply."""
    return b'{"type":"state","data":%b}' % model_json(state, context=LEGACY)


def encode_error(error: OpenEnvError) -> bytes:
    """An error reply: one of the seven codes of this version; ``error`` names our own where the seven are too few."""
    data: dict[str, Any] = {"message": error.public_message, "code": error.v1_code, **error.details}
    if error.code != error.v1_code:
        data["error"] = error.code
    return to_json({"type": "error", "data": jsonable(data)})


def encode_reset(options: dict[str, Any]) -> bytes:
    """A reset request. Raises ``ValidationFailedError`` for an option without a JSON form."""
    return b'{"type":"reset","data":%b}' % request_json(options, "an option of reset")


def encode_step(action: Any) -> bytes:
    """A step request; ``action`` is a model or a mapping. Raises ``ValidationFailedError`` as :func:`encode_reset`."""
    return b'{"type":"step","data":%b}' % request_json(action, "the action")


class Reply(NamedTuple):
    """One reply of a server: its type and its data."""

    type: str
    data: dict[str, Any]


def decode_reply(message: str | bytes) -> Reply:
    """One message of a server of this version.

    Raises:
        ProtocolError: it is not a reply of this version.
    """
    try:
        value = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the server's reply is not JSON: {error}") from None
    if isinstance(value, dict) and isinstance(value.get("type"), str) and isinstance(value.get("data"), dict):
        return Reply(value["type"], value["data"])
    raise ProtocolError("the server's reply has no type and data; is this an OpenEnv server?")


def error_of(data: dict[str, Any]) -> OpenEnvError:
    """The error that an error reply carries. ``SESSION_ERROR`` means that the session is gone."""
    details = {key: value for key, value in data.items() if key not in ("message", "code", "error")}
    code = str(data.get("error") or data.get("code", ""))
    message = str(data.get("message", "the server gave no reason"))
    if code == "SESSION_ERROR":
        return SessionLostError(message, reason=str(details.pop("reason", "closed")), **details)
    return error_from_wire(code, message, details)
