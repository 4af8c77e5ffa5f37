"""Clients that speak protocol version 1 over bare sockets of the websockets package: the same against every server."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from functools import partial
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.frames import Frame
from websockets.sync.client import connect as connect_sync
from websockets.uri import parse_uri

from benchmarks.worker import MESSAGE, Load, load_of_all, median_time

__all__ = ["held", "many_steps", "open_many", "round_trip", "round_trip_lean"]

_STEP = json.dumps({"type": "step", "data": {"message": MESSAGE}})
_RESET = '{"type":"reset","data":{}}'
_CLOSE = '{"type":"close"}'


def round_trip(url: str, seconds: float) -> float:
    """Median time of one step in seconds, with the package's blocking client."""
    with connect_sync(f"{url}/ws", compression=None, proxy=None) as connection:

        def call(frame: str = _STEP) -> None:
            connection.send(frame)
            json.loads(connection.recv())

        call(_RESET)
        return median_time(call, seconds)


def round_trip_lean(url: str, seconds: float) -> float:
    """The same with the package's Sans-I/O half over a blocking socket: next to no time is the client's."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port)) as channel:
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        protocol = ClientProtocol(parse_uri(f"{url}/ws"))

        def exchange() -> bytes:
            for data in protocol.data_to_send():
                channel.sendall(data)
            while True:
                protocol.receive_data(channel.recv(65536))
                for event in protocol.events_received():
                    return bytes(event.data) if isinstance(event, Frame) else b""

        def call(frame: str = _STEP) -> None:
            protocol.send_text(frame.encode())
            json.loads(exchange())

        protocol.send_request(protocol.connect())
        exchange()
        call(_RESET)
        return median_time(call, seconds)


async def _ask(connection: ClientConnection, frame: str) -> None:
    await connection.send(frame)
    json.loads(await connection.recv())


@contextlib.asynccontextmanager
async def _open(url: str, sessions: int) -> AsyncIterator[list[ClientConnection]]:
    async with contextlib.AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(connect(f"{url}/ws", compression=None, proxy=None)) for _ in range(sessions)
        ]
        await asyncio.gather(*(_ask(connection, _RESET) for connection in connections))
        yield connections


def many_steps(url: str, sessions: int, seconds: float, server_pid: int) -> Load:
    """Steps over ``sessions`` sockets."""

    async def run() -> Load:
        async with _open(url, sessions) as connections:
            steps = [partial(_ask, connection, _STEP) for connection in connections]
            return await load_of_all(steps, seconds, server_pid)

    return asyncio.run(run())


def open_many(url: str, lanes: int, seconds: float, server_pid: int) -> Load:
    """Sessions opened, reset and closed, ``lanes`` at a time."""

    async def session() -> None:
        async with connect(f"{url}/ws", compression=None, proxy=None) as connection:
            await _ask(connection, _RESET)
            await connection.send(_CLOSE)
            await connection.wait_closed()

    return asyncio.run(load_of_all([session] * lanes, seconds, server_pid))


@contextlib.contextmanager
def held(url: str, sessions: int) -> Iterator[None]:
    """Sessions that were reset and lie idle, each on a socket of its own."""
    with contextlib.ExitStack() as stack:
        for _ in range(sessions):
            connection = stack.enter_context(connect_sync(f"{url}/ws", compression=None, proxy=None))
            connection.send(_RESET)
            connection.recv()
        yield
