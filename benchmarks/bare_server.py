"""The bare transport: a raw ASGI application that parses a JSON frame and answers with one of fixed shape."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["app"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Serve ``/ws`` and ``/health``, nothing else."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "websocket":
        await _websocket(receive, send)
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"status":"healthy"}'})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = (await receive())["type"].removeprefix("lifespan.")
        await send({"type": f"lifespan.{event}.complete"})
        if event == "shutdown":
            return


async def _websocket(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        event = await receive()
        if event["type"] == "websocket.disconnect":
            return
        message = json.loads(event["text"])
        if message["type"] == "close":
            await send({"type": "websocket.close", "code": 1000})
            return
        await send({"type": "websocket.send", "text": _reply(message.get("data", {}).get("message", ""))})


def _reply(message: str) -> str:
    observation = {"metadata": {}, "echoed_message": message, "message_length": len(message)}
    reply = {"type": "observation", "data": {"observation": observation, "reward": 0.5, "done": False}}
    return json.dumps(reply, separators=(",", ":"))
