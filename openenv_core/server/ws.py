"""``/ws``: hands a WebSocket to the version of the protocol that its client asks for.

These are plain ASGI applications: nothing stands between uvicorn and a step.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from openenv_core.errors import LossReason, SessionLostError
from openenv_core.server.callers import caller_of
from openenv_core.server.gateway import Gateway
from openenv_core.server.ws_v1 import ConnectionV1
from openenv_core.server.ws_v2 import ConnectionV2
from openenv_core.wire import openenv_v1 as v1
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
            if named := parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id"):
                await _refuse_to_attach(named[0], send)
                return
            await ConnectionV1(self._gateway, caller, receive, send).serve()


async def _refuse_to_attach(session_id: str, send: Send) -> None:
    # Version 1 attaches a socket to a session that its tool door made. To open a new one instead would hand its client
    # another world than the one it asked for.
    error = SessionLostError(f"Unknown session_id: {session_id}", reason=LossReason.SERVER_RESTARTED)
    await send({"type": "websocket.send", "text": v1.encode_error(error).decode()})
    await send({"type": "websocket.close", "code": 1000})
