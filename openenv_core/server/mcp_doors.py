"""The two doors of ``/mcp``: one request and one answer over HTTP, many over a WebSocket."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi.responses import JSONResponse, Response
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from openenv_core.errors import LossReason
from openenv_core.server.callers import Caller, caller_of
from openenv_core.server.gateway import Gateway
from openenv_core.server.jsonrpc import PARSE_ERROR, SERVER_ERROR, JsonRpcError, encode, failure
from openenv_core.server.mcp import McpMethods, told
from openenv_core.server.mcp_standard import StandardMcp, is_standard
from openenv_core.sessions.session import Session, explain_loss

__all__ = ["McpHttpDoor", "McpSocketDoor"]

_log = logging.getLogger(__name__)


class McpHttpDoor:
    """``/mcp`` over HTTP. A client of the Model Context Protocol is known by what it accepts, and gets the real thing;
    any other request is one of the public OpenEnv protocol."""

    def __init__(self, methods: McpMethods, standard: StandardMcp) -> None:
        self._methods = methods
        self._standard = standard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        if self._methods.tools is not None and is_standard(request):
            await self._standard.handle(request, send)
            return
        await (await self._answer(request))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return JSONResponse({"detail": "Method Not Allowed"}, status_code=405, headers={"Allow": "POST"})
        try:
            value = json.loads(await request.body())
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            answer = failure(None, JsonRpcError(PARSE_ERROR, "Parse error"))
        else:
            answer = await self._methods.answer(value, caller_of(request.scope))
        return Response(encode(answer), media_type="application/json")


class McpSocketDoor:
    """``/mcp`` as a WebSocket: it has a session of its own for as long as it is open."""

    def __init__(self, gateway: Gateway, methods: McpMethods) -> None:
        self._gateway = gateway
        self._methods = methods

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it ends."""
        await receive()  # websocket.connect
        await send({"type": "websocket.accept"})
        await _Connection(self._gateway, self._methods, caller_of(scope), receive, send).serve()


class _Connection:
    def __init__(
        self,
        gateway: Gateway,
        methods: McpMethods,
        caller: Caller,
        receive: Receive,
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        self._gateway = gateway
        self._methods = methods
        self._caller = caller
        self._receive = receive
        self._send = send

    async def serve(self) -> None:
        try:
            session = await self._gateway.open(self._caller, door="mcp.ws", holder=self)
        except Exception as error:  # noqa: BLE001 - the boundary to the client: everything becomes an error answer
            await self._say(encode(failure(None, told(self._gateway.typed_error(error)))))
            await self._hang_up(1000, "")
            return
        try:
            await self._read(session)
        finally:
            self._gateway.manager.detach(session, self)

    async def _read(self, session: Session) -> None:
        waiting: asyncio.Queue[str | None] = asyncio.Queue(self._gateway.settings.max_pipelined)
        answering = asyncio.create_task(self._answer_all(session, waiting))
        try:
            while True:
                message = await self._receive()
                if message["type"] == "websocket.disconnect":
                    return
                # A full queue stops the reading, and with it a client that does not read answers.
                await waiting.put(message.get("text"))
        finally:
            answering.cancel()

    async def _answer_all(self, session: Session, waiting: "asyncio.Queue[str | None]") -> None:
        while True:
            text = await waiting.get()
            await self._say(await self._methods.answer_text(text, self._caller, session))

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """The session ended: say so, and end the socket."""
        self._gateway.manager.spawn(self._tell_loss(reason))

    async def _tell_loss(self, reason: LossReason) -> None:
        loss = explain_loss(reason)
        await self._say(encode(failure(None, JsonRpcError(SERVER_ERROR, loss.message, {"reason": reason}))))
        await self._hang_up(4000, reason)

    async def _say(self, text: bytes) -> None:
        await self._try({"type": "websocket.send", "text": text.decode()})

    async def _hang_up(self, code: int, reason: str) -> None:
        await self._try({"type": "websocket.close", "code": code, "reason": reason})

    async def _try(self, message: MutableMapping[str, Any]) -> None:
        try:
            await self._send(message)
        except Exception as error:  # noqa: BLE001 - servers differ in what they raise for a socket that is gone
            _log.debug("a message found its socket gone: %r", error)
