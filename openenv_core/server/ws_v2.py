"""Protocol version 2 on a WebSocket: many sessions, answers matched by id, sessions that outlive the socket."""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ClassVar

from pydantic import BaseModel

from openenv_core import __version__
from openenv_core.errors import (
    CallCancelledError,
    InvalidJsonError,
    LossReason,
    OpenEnvError,
    ProtocolError,
    UnauthorizedError,
)
from openenv_core.server.callers import Caller
from openenv_core.server.gateway import Gateway
from openenv_core.server.silence import within
from openenv_core.sessions.replies import Known
from openenv_core.sessions.session import Outcome, Session, explain_loss
from openenv_core.wire.codec import (
    BadFrame,
    encode_error,
    encode_frame,
    encode_observation,
    encode_state,
    join_frames,
)
from openenv_core.wire.frames import (
    CancelFrame,
    ClientFrame,
    ClosedData,
    ClosedFrame,
    CloseFrame,
    HelloFrame,
    OpenedData,
    OpenedFrame,
    OpenFrame,
    QueuedData,
    QueuedFrame,
    ResetFrame,
    ResumedData,
    ResumedFrame,
    StateRequestFrame,
    StepFrame,
)

__all__ = ["ConnectionV2"]

_log = logging.getLogger(__name__)

_FRAMES_PER_MESSAGE = 16
"""A long row of answers goes out in messages of so many frames: the client reads the first while the rest is made."""

Message = MutableMapping[str, Any]
CallFrame = ResetFrame | StepFrame[Any] | StateRequestFrame


class ConnectionV2:
    """One client's socket and the sessions that it carries.

    Class attributes:
        door: what listings call this way in.
    """

    door: ClassVar[str] = "ws.v2"

    def __init__(
        self,
        gateway: Gateway,
        caller: Caller,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        self._gateway = gateway
        self._caller = caller
        self._receive = receive
        self._send = send
        self._sessions: dict[str, Session] = {}
        self._pending: dict[int, tuple[Session | None, asyncio.Task[bytes]]] = {}
        self._outbox: list[bytes] = []
        self._wake = asyncio.Event()
        self._open = True
        self._close_code: int | None = None

    async def serve(self) -> None:
        """Greet, answer frames until the socket ends, and let go of the sessions."""
        self._push(HelloFrame(data=self._gateway.hello(f"openenv-core/{__version__}")))
        writer = asyncio.create_task(self._write())
        try:
            await self._read()
        finally:
            self._open = False
            writer.cancel()
            for session, task in self._pending.values():
                if session is None:
                    task.cancel()  # a session that is still being opened has nobody left to go to
            for session in self._sessions.values():
                self._let_go(session)

    def _let_go(self, session: Session) -> None:
        # Nobody comes back for a session in which nothing has begun: its client may not even know its name.
        self._gateway.manager.detach(session, self, for_good=session.replies.last_id == 0)

    async def _first_message(self) -> Message:
        message = await within(self._gateway.settings.first_message_timeout_s, self._receive)
        if message is not None:
            return message
        await self._send({"type": "websocket.close", "code": 1008, "reason": LossReason.IDLE_TIMEOUT})
        return await self._receive()

    async def _read(self) -> None:
        receive: Callable[[], Awaitable[Message]] = self._first_message
        while True:
            message = await receive()
            receive = self._receive
            if message["type"] == "websocket.disconnect":
                self._close_code = message.get("code")
                return
            text = message.get("text")
            if text is None:
                error = InvalidJsonError("a binary frame; send text")
                await self._send_now([encode_error(None, None, error)])
                continue
            replies: list[bytes] = []
            for frame in self._gateway.codec.decode(text):
                reply = self._answer(frame)
                if reply is not None:
                    replies.append(reply)
                    if len(replies) == _FRAMES_PER_MESSAGE:
                        await self._send_now(replies)
                        replies = []
            if replies:
                await self._send_now(replies)

    def _answer(self, frame: ClientFrame | BadFrame) -> bytes | None:
        """The answer to a frame, if it is there at once."""
        # By the discriminator, not by isinstance, which pydantic's metaclass makes slow.
        if frame.type == "step" or frame.type == "reset" or frame.type == "state":
            session = self._sessions.get(frame.session)
            if session is None or session.holder is not self:
                return encode_error(frame.id, frame.session, self._why_unknown(frame.session))
            return self._answer_call(session, frame)
        if frame.type == "bad":
            return encode_error(frame.id, frame.session, frame.error)
        if frame.type == "open":
            if frame.data.session is not None:
                return self._resume(frame)
            self._later(frame.id, None, self._open_session(frame))
        elif frame.type == "close":
            return self._close_session(frame)
        else:
            self._cancel(frame)
        return None

    def _answer_call(self, session: Session, frame: CallFrame) -> bytes | None:
        known = session.replies.look_up(frame.id)
        if known is Known.FRESH:
            try:
                reply = self._call(session, frame)
            except Exception as error:  # noqa: BLE001 - the boundary to the client: everything becomes an error frame
                reply = encode_error(frame.id, session.id, self._gateway.typed_error(error))
            if isinstance(reply, bytes):
                session.replies.answered_at_once(frame.id, reply)
                return reply
            session.replies.begin(frame.id)
            session.calls[frame.id] = self._later(frame.id, session, self._finish_call(session, frame.id, reply))
            return None
        if known is Known.ANSWERED:
            return session.replies.last_reply
        if known is Known.RUNNING:
            self._watch(frame.id, session, session.calls[frame.id])
            return None
        stale = ProtocolError(
            f"request {frame.id} is older than request {session.replies.last_id} of this session, and its reply is gone"
        )
        return encode_error(frame.id, session.id, stale)

    def _call(self, session: Session, frame: CallFrame) -> bytes | Awaitable[bytes]:
        call = self._gateway.call
        if frame.type == "step":
            write = functools.partial(self._observation, frame.id, session.id)
            return call(session, "step", frame.data, write, frame.timeout_s)
        if frame.type == "reset":
            write = functools.partial(self._observation, frame.id, session.id)
            return call(session, "reset", frame.data, write, frame.timeout_s)
        return call(session, "state", None, functools.partial(self._state, frame.id, session.id), frame.timeout_s)

    def _observation(self, request_id: int, session_id: str, outcome: Outcome) -> bytes:
        observation, truncated = outcome
        unsaid = truncated and not hasattr(observation, "truncated")
        reply = encode_observation(request_id, session_id, observation, truncated=unsaid)
        self._gateway.warn_if_large(reply, "observation")
        return reply

    def _state(self, request_id: int, session_id: str, state: Any) -> bytes:
        return encode_state(request_id, session_id, state)

    async def _finish_call(self, session: Session, request_id: int, reply: Awaitable[bytes]) -> bytes:
        try:
            answer = await reply
        except asyncio.CancelledError:
            answer = encode_error(request_id, session.id, CallCancelledError("cancelled before it ran"))
        except Exception as error:  # noqa: BLE001 - as in _answer_call
            answer = encode_error(request_id, session.id, self._gateway.typed_error(error))
        session.replies.finish(request_id, answer)
        session.calls.pop(request_id, None)
        return answer

    async def _open_session(self, frame: OpenFrame) -> bytes:
        try:
            session = await self._gateway.open(
                self._caller,
                door=self.door,
                holder=self,
                wait_s=frame.data.wait_s,
                resumable=True,
                idle_timeout_s=self._idle_timeout_s(),
                on_queued=functools.partial(self._tell_position, frame.id),
            )
        except asyncio.CancelledError:
            return encode_error(frame.id, None, CallCancelledError("cancelled before a session was open"))
        except Exception as error:  # noqa: BLE001 - as in _answer_call
            return encode_error(frame.id, None, self._gateway.typed_error(error))
        if not self._open:
            self._gateway.manager.close_soon(session, LossReason.DISCONNECTED)
        self._sessions[session.id] = session
        return encode_frame(OpenedFrame(id=frame.id, session=session.id, data=OpenedData(token=session.token)))

    def _idle_timeout_s(self) -> float:
        return self._gateway.settings.idle_timeout_s

    def _resume(self, frame: OpenFrame) -> bytes:
        name, token = frame.data.session or "", frame.data.token or ""
        try:
            session = self._gateway.manager.resume(name, token, credential=self._caller.credential, holder=self)
        except OpenEnvError as error:
            return encode_error(frame.id, name, error)
        self._sessions[session.id] = session
        return encode_frame(
            ResumedFrame(id=frame.id, session=session.id, data=ResumedData(last_id=session.replies.last_id))
        )

    def _close_session(self, frame: CloseFrame) -> bytes | None:
        """Begin to end a session at once: whoever closes and hangs up in one breath means both."""
        session = self._sessions.get(frame.session)
        if session is None or session.holder is not self:
            return encode_error(frame.id, frame.session, self._why_unknown(frame.session))
        ending = self._gateway.manager.close_soon(session, LossReason.CLOSED)
        if ending is None:
            return encode_error(frame.id, frame.session, self._why_unknown(frame.session))
        del self._sessions[frame.session]
        closed = self._closed(frame.id, session.id, LossReason.CLOSED)
        ending.add_done_callback(lambda _: self._push(closed))
        return None

    def _cancel(self, frame: CancelFrame) -> None:
        session, task = self._pending.get(frame.id, (None, None))
        if task is None:
            return
        if session is None:
            # One that came in the same message has not begun yet, and must have, to be answered.
            asyncio.get_running_loop().call_soon(task.cancel)
        else:
            session.cancel(task)

    def _why_unknown(self, session_id: str) -> OpenEnvError:
        try:
            self._gateway.manager.find(session_id)
        except OpenEnvError as error:
            return error
        return UnauthorizedError("the session is not attached to this connection; open it with its token first")

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """A session ended by itself: its client is told at once, not at its next step."""
        if self._sessions.pop(session.id, None) is not None:
            self._push(self._closed(None, session.id, reason))

    def _closed(self, request_id: int | None, session_id: str, reason: LossReason) -> bytes:
        data = ClosedData(reason=reason, message=explain_loss(reason).message)
        return encode_frame(ClosedFrame(id=request_id, session=session_id, data=data))

    def _tell_position(self, request_id: int, position: int) -> None:
        self._push(QueuedFrame(id=request_id, data=QueuedData(position=position)))

    def _later(self, request_id: int, session: Session | None, work: Any) -> "asyncio.Task[bytes]":
        task: asyncio.Task[bytes] = asyncio.create_task(work)
        self._watch(request_id, session, task)
        return task

    def _watch(self, request_id: int, session: Session | None, task: "asyncio.Task[bytes]") -> None:
        self._pending[request_id] = session, task
        task.add_done_callback(functools.partial(self._deliver, request_id))

    def _deliver(self, request_id: int, task: "asyncio.Task[bytes]") -> None:
        self._pending.pop(request_id, None)
        if task.cancelled():
            self._push(encode_error(request_id, None, CallCancelledError("cancelled before it ran")))
        else:
            self._push(task.result())

    def _push(self, frame: bytes | BaseModel) -> None:
        if self._open:
            self._outbox.append(frame if isinstance(frame, bytes) else encode_frame(frame))
            self._wake.set()

    async def _write(self) -> None:
        """Send what comes from elsewhere than a read: whatever is ready at the moment goes out as one message."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            frames, self._outbox = self._outbox, []
            await self._send_now(frames)

    async def _send_now(self, frames: list[bytes]) -> None:
        try:
            await self._send({"type": "websocket.send", "text": join_frames(frames).decode()})
        except Exception as error:  # noqa: BLE001 - servers differ in what they raise for a socket that is gone
            self._open = False
            _log.debug("an answer found its socket gone: %r", error)
