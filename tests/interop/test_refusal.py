"""A server of version 1 that refuses a session says so and hangs up at once, before it is asked for anything.

What the public package's server does when it is full, at its fastest: greeting, refusal and close in one packet.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from websockets.http11 import Request
from websockets.server import ServerProtocol

from openenv_core.client import AsyncEnvClient, BatchClient, EnvClient
from openenv_core.errors import CapacityReachedError

_REFUSAL = (
    b'{"type":"error","data":{"message":"Server at capacity: 1/1 sessions active. Cannot accept new connections.",'
    b'"code":"CAPACITY_REACHED","active_sessions":1,"max_sessions":1}}'
)


def _refuse(connection: socket.socket) -> None:
    protocol = ServerProtocol()
    while not (asked := protocol.events_received()):
        protocol.receive_data(connection.recv(4096))
    request = asked[0]
    assert isinstance(request, Request)
    protocol.send_response(protocol.accept(request))
    protocol.send_text(_REFUSAL)
    protocol.send_close(1000)
    connection.sendall(b"".join(protocol.data_to_send()))
    connection.shutdown(socket.SHUT_WR)


def _serve(listener: socket.socket) -> None:
    # Connections stay open until the end: to close one with something unread would reset it, and lose the refusal.
    with contextlib.suppress(OSError), contextlib.ExitStack() as connections:
        while True:
            connection, _ = listener.accept()
            _refuse(connections.enter_context(connection))


@pytest.fixture
def full_server() -> Iterator[str]:
    """The URL of a server that refuses everybody."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=[listener])
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_the_blocking_client_hears_the_refusal(full_server: str) -> None:
    client = EnvClient[object, object, object](full_server)
    with pytest.raises(CapacityReachedError) as refusal:
        client.reset()
    assert refusal.value.details == {"active_sessions": 1, "max_sessions": 1}
    client.close()


def test_the_awaiting_client_hears_the_refusal(full_server: str) -> None:
    async def run() -> None:
        client = AsyncEnvClient[object, object, object](full_server)
        try:
            await client.reset()
        finally:
            await client.close()

    with pytest.raises(CapacityReachedError) as refusal:
        asyncio.run(run())
    assert refusal.value.details == {"active_sessions": 1, "max_sessions": 1}


def test_the_batch_client_hears_the_refusal(full_server: str) -> None:
    batch = BatchClient[object, object, object](full_server, 2)
    with pytest.raises(CapacityReachedError):
        batch.reset()
    batch.close()
