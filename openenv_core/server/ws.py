"""``/ws``: hands a WebSocket to the version of the protocol that its client asks for.

These are plain ASGI applications: nothing stands between uvicorn and a step.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from openenv_core.server.callers import caller_of
from openenv_core.server.gateway import Gateway
from openenv_core.server.mcp import McpMethods
from openenv_core.server.ws_v1 import ConnectionV1
from openenv_core.server.ws_v2 import ConnectionV2
from openenv_core.wire.frames import SUBPROTOCOL

__all__ = ["WebSocketDoor"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class WebSocketDoor:
    """The ASGI application behind ``/ws``."""

    def __init__(self, gateway: Gateway, tools: McpMethods) -> None:
        self._gateway = gateway
        self._tools = tools

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it ends."""
        await receive()  # websocket.connect
        caller = caller_of(scope)
        if SUBPROTOCOL in scope.get("subprotocols", ()):
            await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
            await ConnectionV2(self._gateway, caller, receive, send).serve()
        else:
            await send({"type": "websocket.accept"})
            connection = ConnectionV1(self._gateway, self._tools, caller, receive, send)
            named = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id")
            await (connection.serve_attached(named[0]) if named else connection.serve())
