"""A small environment whose instances are counted, and ways to talk to a server without a client."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any, ClassVar

import httpx
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from openenv_core.environment import Environment
from openenv_core.types import Action, Observation, State
from openenv_core.wire.frames import SUBPROTOCOL
from tests.support.serving import Served

__all__ = ["Parrot", "Said", "Say", "cut_off", "handshake_status", "post", "raw_connection", "socket_of"]


class Say(Action):
    """Say ``text``; with ``fail``, raise an error of that text."""

    text: str = ""
    fail: str = ""


class Said(Observation):
    """What was said."""

    text: str = ""


class Parrot(Environment[Say, Said, State]):
    """Says back what it is told."""

    concurrency_safe = True
    execution = "inline"
    auto_start = True
    built: ClassVar[int] = 0

    def __init__(self) -> None:
        type(self).built += 1

    def reset(self, *, seed: int | None = None, fail: str = "") -> Said:
        """Begin anew."""
        if fail:
            raise RuntimeError(fail)
        return Said(text="ready")

    def step(self, action: Say) -> Said:
        """Say it back."""
        if action.fail:
            raise RuntimeError(action.fail)
        return Said(text=action.text, reward=float(len(action.text)), done=action.text == "bye")


def handshake_status(served: Served, path: str = "/ws", *, v2: bool = False, **headers: str) -> int:
    """The status with which a WebSocket handshake is answered: 101 where it is accepted."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with socket_of(served, path, v2=v2, headers=named):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


@contextlib.contextmanager
def socket_of(
    served: Served, path: str = "/ws", *, v2: bool = False, headers: dict[str, str] | None = None
) -> Iterator[Any]:
    """A bare WebSocket to a server."""
    headers = dict(headers or {})
    origin: Any = headers.pop("Origin", None)
    url = served.base_url.replace("http", "ws", 1) + path
    protocols: Any = [SUBPROTOCOL] if v2 else None
    with connect(url, subprotocols=protocols, additional_headers=headers, origin=origin, proxy=None) as opened:
        yield opened


def post(served: Served, path: str, body: Any = None, **headers: str) -> httpx.Response:
    """POST a JSON body, or none."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(served.base_url + path, json=body, headers=named, trust_env=False, timeout=15)


def cut_off(connection: socket.socket, pieces: Iterator[bytes]) -> bool:
    """Whether the server ends the connection before all pieces are sent."""
    try:
        for piece in pieces:
            connection.sendall(piece)
    except ConnectionError:
        return True
    return False


@contextlib.contextmanager
def raw_connection(served: Served) -> Iterator[socket.socket]:
    """A TCP connection to a server."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=15) as opened:
        yield opened
