"""``/ws``: hands a WebSocket to the version of the protocol that its client asks for.

These are plain ASGI applications: nothing stands between uvicorn and a step.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from openenv_core.server.callers import caller_of
from openenv_core.server.gateway import Gateway
from openenv_core.server.ws_v1 import ConnectionV1
from openenv_core.server.ws_v2 import ConnectionV2
from openenv_core.wire.frames import SUBPROTOCOL

__all__ = ["WebSocketDoor"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class WebSocketDoor:
    """The ASGI application behind ``/ws``."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it ends."""
        await receive()  # websocket.connect
        caller = caller_of(scope)
        if SUBPROTOCOL in scope.get("subprotocols", ()):
            await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
            await ConnectionV2(self._gateway, caller, receive, send).serve()
        else:
            await send({"type": "websocket.accept"})
            await ConnectionV1(self._gateway, caller, receive, send).serve()
