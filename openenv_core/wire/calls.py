"""The client's half of both protocol versions: requests to messages, messages to answers. No socket, no clock.

Version 2 matches an answer to its request by id, so a late answer finds no request and is dropped. Version 1 has no
ids: the one answer that comes belongs to the one request that is out, and after a request was given up the connection
cannot be used any more.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from openenv_core.errors import (
    OpenEnvError,
    ProtocolError,
    SessionLostError,
    ValidationFailedError,
)
from openenv_core.types import StepResult
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.codec import ClientCodec, encode_frame, error_of
from openenv_core.wire.frames import (
    PROTOCOL_VERSION,
    CancelFrame,
    CloseFrame,
    ErrorFrame,
    HelloData,
    HelloFrame,
    OpenData,
    OpenFrame,
    ServerFrame,
    StateRequestFrame,
)

__all__ = ["Answer", "Calls", "Event", "Greeting", "Loss", "Opened", "Position", "V1Calls", "V2Calls"]


class Opened(NamedTuple):
    """A session of this client: its name and the secret that resumes it."""

    session: str
    token: str


class Answer(NamedTuple):
    """The answer to the request ``id``: a value, or an error.

    The value is a :class:`~openenv_core.types.StepResult`, a state, an :class:`Opened`, or ``None``.
    """

    id: int
    value: Any
    error: OpenEnvError | None = None


class Loss(NamedTuple):
    """A session ended without this client asking for it."""

    session: str | None
    error: SessionLostError


class Position(NamedTuple):
    """The request ``id`` waits in the server's queue."""

    id: int
    position: int


class Greeting(NamedTuple):
    """The server has said who it is."""

    hello: HelloData


Event = Answer | Loss | Position | Greeting


class Calls(ABC):
    """One protocol version. Requests are numbered by the caller, upwards.

    Attributes:
        resumable: a session outlives its connection.
        ordered: answers come in the order of the requests and carry no id.
        hello: what the server said of itself, where the connection was greeted before.
    """

    resumable: ClassVar[bool]
    ordered: ClassVar[bool]
    hello: HelloData | None = None

    @abstractmethod
    def open(self, request_id: int, wait_s: float) -> bytes | None:
        """Ask for a session; ``None`` where the connection itself is the session."""

    @abstractmethod
    def resume(self, request_id: int, opened: Opened) -> bytes:
        """Ask for a session that was open on another connection."""

    @abstractmethod
    def reset(self, request_id: int, session: str, options: Mapping[str, Any]) -> bytes:
        """Start an episode."""

    @abstractmethod
    def step(self, request_id: int, session: str, action: Any, timeout_s: float | None) -> bytes:
        """Do one action."""

    @abstractmethod
    def state(self, request_id: int, session: str) -> bytes:
        """Ask for the state."""

    @abstractmethod
    def close(self, request_id: int, session: str) -> bytes:
        """End the session."""

    @abstractmethod
    def cancel(self, request_id: int) -> bytes | None:
        """Give a request up; ``None`` where the protocol has no word for that."""

    @abstractmethod
    def feed(self, message: str | bytes) -> list[Event]:
        """What a message of the server says.

        Raises:
            ProtocolError: it makes no sense in this version.
        """


@functools.lru_cache(maxsize=64)
def _codec_for(observation_type: Any, state_type: Any) -> ClientCodec:
    """Building one costs milliseconds, and a trainer makes a client for every rollout."""
    return ClientCodec(observation_type, state_type)


class V2Calls(Calls):
    """Version 2."""

    resumable = True
    ordered = False

    def __init__(self, observation_type: Any, state_type: Any) -> None:
        self._codec = _codec_for(observation_type, state_type)

    def open(self, request_id: int, wait_s: float) -> bytes:
        return encode_frame(OpenFrame(id=request_id, data=OpenData(wait_s=wait_s)))

    def resume(self, request_id: int, opened: Opened) -> bytes:
        return encode_frame(OpenFrame(id=request_id, data=OpenData(session=opened.session, token=opened.token)))

    def reset(self, request_id: int, session: str, options: Mapping[str, Any]) -> bytes:
        return self._codec.reset(request_id, session, dict(options))

    def step(self, request_id: int, session: str, action: Any, timeout_s: float | None) -> bytes:
        return self._codec.step(request_id, session, action, timeout_s)

    def state(self, request_id: int, session: str) -> bytes:
        return encode_frame(StateRequestFrame(id=request_id, session=session))

    def close(self, request_id: int, session: str) -> bytes:
        return encode_frame(CloseFrame(id=request_id, session=session))

    def cancel(self, request_id: int) -> bytes:
        return encode_frame(CancelFrame(id=request_id))

    def feed(self, message: str | bytes) -> list[Event]:
        return [_event(frame) for frame in self._codec.decode(message)]


def _event(frame: ServerFrame) -> Event:
    # By the discriminator, not by isinstance, which pydantic's metaclass makes slow.
    if frame.type == "observation":
        return Answer(frame.id, _result(frame.data, frame.truncated))
    if frame.type == "state":
        return Answer(frame.id, frame.data)
    if frame.type == "error":
        return _failure(frame)
    if frame.type == "opened":
        return Answer(frame.id, Opened(frame.session, frame.data.token))
    if frame.type == "resumed":
        return Answer(frame.id, None)
    if frame.type == "closed":
        if frame.id is not None:
            return Answer(frame.id, None)
        return Loss(frame.session, SessionLostError(frame.data.message, reason=frame.data.reason))
    if frame.type == "queued":
        return Position(frame.id, frame.data.position)
    return _greeting(frame)


def _failure(frame: ErrorFrame) -> Event:
    error = error_of(frame)
    if frame.id is not None:
        return Answer(frame.id, None, error)
    if isinstance(error, SessionLostError):
        return Loss(frame.session, error)
    raise error


def _greeting(frame: HelloFrame) -> Greeting:
    hello = frame.data
    if hello.protocol != PROTOCOL_VERSION:
        raise ProtocolError(
            f"the server {hello.server} speaks protocol {hello.protocol} and this client speaks {PROTOCOL_VERSION}: "
            "install the client that belongs to the server",
            server=hello.protocol,
            client=PROTOCOL_VERSION,
        )
    return Greeting(hello)


def _result(observation: Any, truncated: bool) -> StepResult[Any]:
    """The observation and the numbers that it carries, as a step result."""
    if isinstance(observation, dict):
        carried = v1.LIFTED if observation.get("success") is None else v1.LIFTED - {"success"}
        inside = {key: value for key, value in observation.items() if key not in carried}
        return StepResult(
            inside,
            observation.get("reward"),
            bool(observation.get("done", False)),
            truncated or bool(observation.get("truncated", False)),
            observation.get("metadata"),
        )
    return StepResult(
        observation,
        observation.reward,
        observation.done,
        truncated or getattr(observation, "truncated", False),
        getattr(observation, "metadata", None),
    )


class V1Calls(Calls):
    """Version 1: the connection is the session, and one request is out at a time."""

    resumable = False
    ordered = True

    def __init__(self, observation_type: Any, state_type: Any) -> None:
        self._raw = observation_type is dict
        self._lifted = _lifted_fields(observation_type)
        self._observation: TypeAdapter[Any] = TypeAdapter(observation_type)
        self._state: TypeAdapter[Any] = TypeAdapter(state_type)
        self._out: int | None = None

    def open(self, request_id: int, wait_s: float) -> None:
        return None

    def resume(self, request_id: int, opened: Opened) -> bytes:
        raise ProtocolError("a session of protocol version 1 cannot be resumed")

    def reset(self, request_id: int, session: str, options: Mapping[str, Any]) -> bytes:
        self._out = request_id
        return v1.encode_reset(dict(options))

    def step(self, request_id: int, session: str, action: Any, timeout_s: float | None) -> bytes:
        self._out = request_id
        return v1.encode_step(action)

    def state(self, request_id: int, session: str) -> bytes:
        self._out = request_id
        return v1.STATE_REQUEST

    def close(self, request_id: int, session: str) -> bytes:
        return v1.CLOSE_REQUEST

    def cancel(self, request_id: int) -> None:
        return None

    def feed(self, message: str | bytes) -> list[Event]:
        reply = v1.decode_reply(message)
        error = v1.error_of(reply.data) if reply.type == "error" else None
        request_id, self._out = self._out, None
        if request_id is None:
            if isinstance(error, SessionLostError):
                return [Loss(None, error)]
            raise error or ProtocolError("the server sent a reply that nobody asked for")
        if error is not None:
            return [Answer(request_id, None, error)]
        try:
            return [Answer(request_id, self._value(reply))]
        except ValidationError as invalid:
            return [Answer(request_id, None, ValidationFailedError.of(invalid, "the server's reply"))]

    def _value(self, reply: v1.Reply) -> Any:
        data = reply.data
        if reply.type == "state":
            return _read(self._state, data)
        if reply.type != "observation" or not isinstance(data.get("observation"), dict):
            raise ProtocolError(f"the server answered with {reply.type!r}")
        inside: dict[str, Any] = data["observation"]
        done, truncated = bool(data.get("done", False)), bool(data.get("truncated", False))
        if self._raw:
            if data.get("success") is not None:
                inside["success"] = data["success"]
            return StepResult(inside, data.get("reward"), done, truncated, data.get("metadata"))
        merged = {**inside, **{name: data[name] for name in self._lifted if name in data}}
        observation = _read(self._observation, merged)
        metadata = getattr(observation, "metadata", None) or data.get("metadata")
        return StepResult(observation, data.get("reward"), done, truncated, metadata)


def _lifted_fields(observation_type: Any) -> frozenset[str]:
    """What stands beside an observation in version 1 and belongs into it: for a union, what all of its members have."""
    if get_origin(observation_type) is Annotated:
        return _lifted_fields(get_args(observation_type)[0])
    members = get_args(observation_type)
    if members:
        return frozenset.intersection(*map(_lifted_fields, members))
    if getattr(observation_type, "model_config", {}).get("extra") == "allow":
        return v1.LIFTED
    return v1.LIFTED & set(getattr(observation_type, "model_fields", {}))


def _read(adapter: TypeAdapter[Any], data: dict[str, Any]) -> Any:
    """Like :meth:`ClientCodec.decode`: a field that only a newer server knows is ignored."""
    try:
        return adapter.validate_python(data)
    except ValidationError:
        return adapter.validate_python(data, extra="ignore")
