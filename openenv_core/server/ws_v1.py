"""Protocol version 1 on a WebSocket: one socket, one session, one reply for each request, in order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from openenv_core.errors import LossReason, OpenEnvError, ProtocolError
from openenv_core.server.callers import Caller
from openenv_core.server.gateway import Gateway
from openenv_core.server.jsonrpc import encode
from openenv_core.server.mcp import McpMethods
from openenv_core.server.silence import within
from openenv_core.sessions.session import Outcome, Session, explain_loss
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.nesting import check_nesting

__all__ = ["SESSION_ENDED_CODE", "ConnectionV1"]

_log = logging.getLogger(__name__)

SESSION_ENDED_CODE = 4000
"""Close code of a socket whose session the server ended; the close reason is a word of ``LossReason``.
From the range that RFC 6455 leaves to applications, so that no client takes it for a close that it asked for."""

_MAX_WAITING = 256
"""Requests that a client may send ahead of their replies."""

Message = MutableMapping[str, Any]


class ConnectionV1:
    """One client's socket."""

    __slots__ = ("_ahead", "_caller", "_gateway", "_open", "_receive", "_send", "_session", "_tools", "_working")

    def __init__(
        self,
        gateway: Gateway,
        tools: McpMethods,
        caller: Caller,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        self._gateway = gateway
        self._tools = tools
        self._caller = caller
        self._receive = receive
        self._send = send
        self._session: Session | None = None
        self._ahead: list[str | None] = []
        self._working: asyncio.Task[None] | None = None
        self._open = True

    async def serve(self) -> None:
        """Open the session, answer requests until the socket ends, and end the session."""
        self._working = asyncio.create_task(self._begin())
        try:
            await self._read(self._first_message)
        finally:
            self._open = False
            if self._session is not None:
                self._gateway.manager.detach(self._session, self)
            elif self._working is not None:
                self._working.cancel()

    async def serve_attached(self, session_id: str) -> None:
        """The same with a session that a request has opened; it outlives this socket for the grace time."""
        try:
            self._session = session = self._tools.sessions.attach(session_id, self._caller, self)
        except OpenEnvError as error:
            await self._reply(v1.encode_error(self._gateway.typed_error(error)))
            await self._close_socket(1000, "")
            return
        try:
            await self._read(self._receive)
        finally:
            self._open = False
            self._gateway.manager.detach(session, self)
            self._tools.sessions.detached(session)

    async def _begin(self) -> None:
        try:
            self._session = await self._gateway.open(self._caller, door="ws.v1", holder=self)
        except Exception as error:  # noqa: BLE001 - the boundary to the client: everything becomes an error reply
            await self._reply(v1.encode_error(self._gateway.typed_error(error)))
            await self._close_socket(1000, "")
            return
        await self._catch_up()

    async def _read(self, receive: Callable[[], Awaitable[Message]]) -> None:
        # The socket is read all the time, also while a call runs: pongs and the end of the client arrive there.
        while True:
            message = await receive()
            receive = self._receive
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if self._working is not None:
                if len(self._ahead) >= _MAX_WAITING:
                    await self._reply(v1.encode_error(ProtocolError("too many requests ahead of their replies")))
                    await self._close_socket(1008, "too many requests")
                    return
                self._ahead.append(text)
                continue
            reply = self._answer(text)
            if isinstance(reply, bytes):
                await self._reply(reply)
            else:
                self._working = asyncio.create_task(self._work(reply))

    async def _first_message(self) -> Message:
        """A socket that asks for nothing must not hold a slot for ever; later silences are the idle time's affair."""
        message = await within(self._gateway.settings.first_message_timeout_s, self._receive)
        if message is not None:
            return message
        if self._session is not None:
            await self._gateway.manager.close(self._session, LossReason.IDLE_TIMEOUT)
        else:
            await self._close_socket(SESSION_ENDED_CODE, LossReason.IDLE_TIMEOUT)
        return await self._receive()

    async def _work(self, reply: Awaitable[bytes]) -> None:
        await self._reply(await self._settle(reply))
        await self._catch_up()

    async def _catch_up(self) -> None:
        """Answer the requests that came while another one was worked on."""
        while self._ahead:
            answer = self._answer(self._ahead.pop(0))
            await self._reply(answer if isinstance(answer, bytes) else await self._settle(answer))
        self._working = None

    def _answer(self, text: str | None) -> bytes | Awaitable[bytes]:
        session = self._session
        assert session is not None
        try:
            if text is not None:
                check_nesting(text, self._gateway.settings.max_nesting)
            verb, data = self._gateway.reader.read(text)
            if verb == "close":
                return self._closing(session)
            if verb == "mcp":
                return self._tool_answer(session, data)
            return self._gateway.call(session, verb, data, v1.encode_state if verb == "state" else self._observation)
        except Exception as error:  # noqa: BLE001 - the boundary to the client: everything becomes an error reply
            return v1.encode_error(self._gateway.typed_error(error))

    async def _settle(self, reply: Awaitable[bytes]) -> bytes:
        try:
            return await reply
        except Exception as error:  # noqa: BLE001 - as in _answer
            return v1.encode_error(self._gateway.typed_error(error))

    def _observation(self, outcome: Outcome) -> bytes:
        reply = v1.encode_observation(outcome.observation, truncated=outcome.truncated)
        self._gateway.warn_if_large(reply, "observation")
        return reply

    async def _tool_answer(self, session: Session, request: Any) -> bytes:
        answer = await self._tools.answer(request, self._caller, session)
        return b'{"type":"mcp","data":%b}' % encode(answer)

    async def _closing(self, session: Session) -> bytes:
        session.holder = None  # whoever asks for the end need not be told of it
        await self._gateway.manager.close(session, LossReason.CLOSED)
        await self._close_socket(1000, "")
        return b""

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """The session ended without its client asking for that: say so and end the socket."""
        self._gateway.manager.spawn(self._tell_loss(reason))

    async def _tell_loss(self, reason: LossReason) -> None:
        error = explain_loss(reason)
        await self._reply(v1.encode_error(error))
        await self._close_socket(SESSION_ENDED_CODE, reason)

    async def _reply(self, reply: bytes) -> None:
        if not self._open or not reply:
            return
        try:
            await self._send({"type": "websocket.send", "text": reply.decode()})
        except Exception as error:  # noqa: BLE001 - servers differ in what they raise for a socket that is gone
            self._open = False
            _log.debug("a reply found its socket gone: %r", error)

    async def _close_socket(self, code: int, reason: str) -> None:
        if not self._open:
            return
        self._open = False
        try:
            await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except Exception as error:  # noqa: BLE001 - as in _reply
            _log.debug("a close found its socket gone: %r", error)
