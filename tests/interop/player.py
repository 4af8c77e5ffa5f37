"""Plays a case against a server and records what comes back, byte for byte.

A case is a dictionary, because that is how it lies in ``tests/data/v1/golden.json``:

* over WebSocket: ``{"name", "app", "path", "hold", "send": [text or {"binary": hex}, ...]}``. ``hold`` other sessions
  are open meanwhile. The record adds ``replies``, one for each message sent (``None`` where none came), before them
  ``greeting``, what came unasked, and ``close``: ``[code, reason]`` where the server ended the connection, or ``None``.
* over HTTP: ``{"name", "app", "method", "path", "body"}``. The record adds ``status``, ``content_type``, ``reply``.
"""

import contextlib
import http.client
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

__all__ = ["Case", "play_http", "play_websocket"]

Case = dict[str, Any]

_LIMIT_S = 20.0
"""A server that says nothing for so long has failed the case."""


def play_websocket(base_url: str, case: Case) -> Case:
    """Play one WebSocket case and return it with its record."""
    url = "ws" + base_url.removeprefix("http")
    with contextlib.ExitStack() as stack:
        for _ in range(case["hold"]):
            holder = stack.enter_context(_open(url + "/ws"))
            holder.send('{"type":"state"}')
            holder.recv(_LIMIT_S)
        connection = stack.enter_context(_open(url + case["path"]))
        greeting = _receive(connection) if not case["send"] else None
        replies: list[str | None] = []
        for message in case["send"]:
            _send(connection, message)
            replies.append(_receive(connection))
        ended = replies[-1] is None if replies else True
        return {**case, "greeting": greeting, "replies": replies, "close": _close(connection, ended=ended)}


def play_http(base_url: str, case: Case, headers: Mapping[str, str] | None = None) -> Case:
    """Play one HTTP case, with ``headers`` on top, and return it with its record."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=_LIMIT_S)
    try:
        kind = {} if case["body"] is None else {"Content-Type": "application/json"}
        connection.request(case["method"], case["path"], case["body"], {**kind, **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
        content_type = response.getheader("Content-Type")
        return {**case, "status": response.status, "content_type": content_type, "reply": text}
    finally:
        connection.close()


def _open(url: str) -> ClientConnection:
    return connect(url, compression=None, proxy=None, ping_interval=None, open_timeout=_LIMIT_S)


def _send(connection: ClientConnection, message: str | dict[str, str]) -> None:
    with contextlib.suppress(ConnectionClosed):
        connection.send(message if isinstance(message, str) else bytes.fromhex(message["binary"]))


def _receive(connection: ClientConnection) -> str | None:
    try:
        reply = connection.recv(_LIMIT_S)
    except ConnectionClosed:
        return None
    return reply if isinstance(reply, str) else f"binary:{reply.hex()}"


def _close(connection: ClientConnection, *, ended: bool) -> list[Any] | None:
    """The server's close code and reason. A connection that lives is asked for one more reply to show it."""
    if not ended:
        _send(connection, '{"type":"state"}')
        if _receive(connection) is not None:
            return None
    elif _receive(connection) is not None:
        raise AssertionError("a frame came unasked")
    return [connection.close_code, connection.close_reason]
