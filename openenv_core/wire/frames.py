"""The frames of protocol version 2, all of them.

A message is one frame or a JSON array of frames. Every frame of a client has an ``id`` that is larger than the ids it
used before, and gets exactly one final answer under that id; ``queued`` may come before it. ``closed`` and ``error``
may come unasked, without an id. A server opens with ``hello``.

    client                              server
    open    (new session)               opened | error, after any number of queued
    open    (session and token)         resumed | error
    reset, step                         observation | error
    state                               state | error
    close                               closed
    cancel  (its id is the call's id)   nothing: the cancelled call itself is answered

Version 1, the public OpenEnv protocol, is in :mod:`openenv_core.wire.openenv_v1`.
"""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "PROTOCOL_VERSION",
    "SUBPROTOCOL",
    "CancelFrame",
    "Capacity",
    "ClientFrame",
    "CloseFrame",
    "ClosedData",
    "ClosedFrame",
    "ErrorData",
    "ErrorFrame",
    "HelloData",
    "HelloFrame",
    "Limits",
    "ObservationFrame",
    "OpenData",
    "OpenFrame",
    "OpenedData",
    "OpenedFrame",
    "QueuedData",
    "QueuedFrame",
    "ResetFrame",
    "ResumedData",
    "ResumedFrame",
    "ServerFrame",
    "StateFrame",
    "StateRequestFrame",
    "StepFrame",
]

SUBPROTOCOL = "openenv.v2"
PROTOCOL_VERSION = 2

ActionT = TypeVar("ActionT")
ObservationT = TypeVar("ObservationT")
StateT = TypeVar("StateT")

RequestId = Annotated[int, Field(ge=1, le=2**53 - 1)]  # the integers that every JSON reader keeps exact
Name = Annotated[str, Field(min_length=1, max_length=255)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Frame(BaseModel):
    # A client validates with extra="ignore", so that a newer server may say more; a server refuses by name.
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="strings")


class OpenData(_Frame):
    """``wait_s``: seconds to wait in the queue of a full server. ``session`` and ``token``: the session to resume."""

    wait_s: Annotated[float, Field(ge=0, le=86400)] = 0.0
    session: Name | None = None
    token: Name | None = None


class OpenFrame(_Frame):
    """Open a session, or take one up again after a lost connection."""

    id: RequestId
    type: Literal["open"] = "open"
    data: OpenData = OpenData()


class _Call(_Frame):
    id: RequestId
    session: Name


class ResetFrame(_Call):
    """Start an episode; ``data`` holds the options of ``reset``."""

    type: Literal["reset"] = "reset"
    data: dict[str, Any] = {}
    timeout_s: Seconds | None = None


class StepFrame(_Call, Generic[ActionT]):
    """Do one action; ``data`` is the action."""

    type: Literal["step"] = "step"
    data: ActionT
    timeout_s: Seconds | None = None


class StateRequestFrame(_Call):
    """Ask for the state."""

    type: Literal["state"] = "state"
    timeout_s: Seconds | None = None


class CloseFrame(_Call):
    """End the session."""

    type: Literal["close"] = "close"


class CancelFrame(_Frame):
    """Give up the call with this id. A call that is running runs to its end; one that waits is answered CANCELLED."""

    id: RequestId
    type: Literal["cancel"] = "cancel"


ClientFrame = OpenFrame | ResetFrame | StepFrame[Any] | StateRequestFrame | CloseFrame | CancelFrame


class Limits(_Frame):
    """What a server allows: bytes of one message each way, and seconds."""

    max_message_bytes: int
    step_deadline_s: float
    idle_timeout_s: float
    resume_grace_s: float


class Capacity(_Frame):
    """Sessions open, allowed and waiting, at the moment of the greeting."""

    active: int
    max: int
    queued: int


class HelloData(_Frame):
    """Who speaks. ``reset_options``: the names that ``reset`` takes; ``None`` where it takes any, or nobody knows."""

    protocol: int
    server: str
    env_name: str
    limits: Limits
    capacity: Capacity
    reset_options: list[str] | None = None


class HelloFrame(_Frame):
    """The server's greeting."""

    type: Literal["hello"] = "hello"
    data: HelloData


class OpenedData(_Frame):
    """``token``: the secret with which this client may resume the session."""

    token: str


class OpenedFrame(_Frame):
    """A session is open."""

    id: int
    session: str
    type: Literal["opened"] = "opened"
    data: OpenedData


class ResumedData(_Frame):
    """``last_id``: the largest request id that the session has seen; 0 for none."""

    last_id: int


class ResumedFrame(_Frame):
    """The session is attached to this connection."""

    id: int
    session: str
    type: Literal["resumed"] = "resumed"
    data: ResumedData


class QueuedData(_Frame):
    """``position``: 1 is next."""

    position: int


class QueuedFrame(_Frame):
    """The server is full; the open request waits."""

    id: int
    type: Literal["queued"] = "queued"
    data: QueuedData


class ObservationFrame(_Frame, Generic[ObservationT]):
    """The answer to ``reset`` and ``step``. ``data`` is the whole observation, reward and done in it.

    ``truncated`` here speaks for an observation class that has no field of that name.
    """

    id: int
    session: str
    type: Literal["observation"] = "observation"
    data: ObservationT
    truncated: bool = False


class StateFrame(_Frame, Generic[StateT]):
    """The answer to ``state``."""

    id: int
    session: str
    type: Literal["state"] = "state"
    data: StateT


class ClosedData(_Frame):
    """Why the session ended: a word of :class:`~openenv_core.errors.LossReason`, and a sentence."""

    reason: str
    message: str


class ClosedFrame(_Frame):
    """The session is over: asked for where there is an id, and otherwise lost."""

    id: int | None = None
    session: str
    type: Literal["closed"] = "closed"
    data: ClosedData


class ErrorData(_Frame):
    """An :class:`~openenv_core.errors.OpenEnvError`, by its code."""

    code: str
    message: str
    retryable: bool = False
    details: dict[str, Any] = {}


class ErrorFrame(_Frame):
    """A call failed; without an id, a message could not be attributed to a call."""

    id: int | None = None
    session: str | None = None
    type: Literal["error"] = "error"
    data: ErrorData


ServerFrame = (
    HelloFrame
    | OpenedFrame
    | ResumedFrame
    | QueuedFrame
    | ObservationFrame[Any]
    | StateFrame[Any]
    | ClosedFrame
    | ErrorFrame
)
