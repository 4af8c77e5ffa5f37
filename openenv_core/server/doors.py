"""The outermost layer of a server: what is refused is refused here, and what fails unforeseen is answered here.

It looks at a WebSocket once, before the handshake is accepted; nothing of it stands between a client and a step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openenv_core.errors import OpenEnvError, ProtocolError
from openenv_core.server.doorkeeper import PAGE_COOKIE, Doorkeeper, Headers, has_body, too_large
from openenv_core.server.gateway import Gateway
from openenv_core.server.http import error_response
from openenv_core.server.silence import within
from openenv_core.wire.nesting import check_nesting

__all__ = ["Doors"]

_GOODBYE_S = 1.0

UNAUTHORIZED_CODE = 4401
"""Close code for a refused WebSocket where the transport cannot answer a handshake with a status."""


class _TooSlowError(ProtocolError):
    http_status = 408


class _ClientGoneError(Exception):
    """The client went away before its request was complete."""


class Doors:
    """ASGI middleware around everything that a server answers.

    Args:
        app: what is behind the doors.
        gateway: gives unforeseen failures a name, and holds the limits.
        doorkeeper: decides.
        sockets: WebSocket applications by path. They are reached from here directly: what the framework has in between
            keeps kilobytes for every socket, as long as it is open.
    """

    def __init__(
        self, app: ASGIApp, gateway: Gateway, doorkeeper: Doorkeeper, sockets: Mapping[str, ASGIApp] | None = None
    ) -> None:
        self._app = app
        self._gateway = gateway
        self._doorkeeper = doorkeeper
        self._sockets = dict(sockets or {})

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Refuse a request, or hand it on."""
        if scope["type"] == "http":
            return self._http(scope, receive, send)
        if scope["type"] == "websocket":
            return self._websocket(scope, receive, send)
        return self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            headers = self._doorkeeper.check(scope)
            if has_body(headers):
                receive = _replay(await self._body(receive), receive)
            out = self._with_cookie(headers, watched)
            await self._app(scope, receive, out)
        except _ClientGoneError:
            return
        except Exception as error:
            if started:
                raise
            await self._refusal(error, scope)(scope, receive, send)

    def _refusal(self, error: Exception, scope: Scope) -> JSONResponse:
        typed = self._gateway.typed_error(error)
        response = error_response(typed)
        if typed.http_status == 401:
            response.headers["WWW-Authenticate"] = _challenge(scope)
        if typed.http_status in (408, 413):
            response.headers["Connection"] = "close"  # the rest of the body is of no interest
        return response

    async def _body(self, receive: Receive) -> bytes:
        settings = self._gateway.settings
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(settings.request_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientGoneError
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > settings.max_body_bytes:
                        raise too_large(size, settings.max_body_bytes)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            limit = settings.request_timeout_s
            raise _TooSlowError(f"the body did not arrive within {limit:g} s", limit=limit) from None
        body = b"".join(parts)
        check_nesting(body, settings.max_nesting)
        return body

    def _with_cookie(self, headers: Headers, send: Send) -> Send:
        """A browser in which a person typed the token gets a cookie that stands for it."""
        given = headers.get(b"authorization", [b""])[0]
        if not self._gateway.settings.token or not given.lower().startswith(b"basic "):
            return send
        cookie = f"{PAGE_COOKIE}={self._doorkeeper.page_cookie}; HttpOnly; Path=/; SameSite=strict".encode()

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (b"set-cookie", cookie)]}
            await send(message)

        return with_cookie

    def _websocket(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        try:
            self._doorkeeper.check(scope)
        except OpenEnvError as error:
            return self._refuse_socket(error, scope, receive, send)
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        return self._sockets.get(path, self._app)(scope, receive, send)

    async def _refuse_socket(self, error: OpenEnvError, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        await self._refuse_handshake(error, scope, send)
        for _ in range(2):
            # uvicorn takes a refused handshake for a forgotten one, and says so, until the connection is gone.
            await within(_GOODBYE_S, receive)

    async def _refuse_handshake(self, error: OpenEnvError, scope: Scope, send: Send) -> None:
        response = self._refusal(error, scope)
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": UNAUTHORIZED_CODE, "reason": error.code})
            return
        start = {"type": "websocket.http.response.start", "status": response.status_code}
        await send({**start, "headers": response.raw_headers})
        await send({"type": "websocket.http.response.body", "body": bytes(response.body)})


def _challenge(scope: Scope) -> str:
    """How to prove oneself: a browser that opens a page asks its person, and takes the answer for a password."""
    accepts = b", ".join(value for name, value in scope["headers"] if name == b"accept")
    if scope.get("method") == "GET" and b"text/html" in accepts:
        return 'Basic realm="openenv: any user name, the token as password", charset="UTF-8"'
    return 'Bearer realm="openenv"'


def _replay(body: bytes, receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> Receive:
    """A ``receive`` that gives the body that was read already, and then whatever comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
