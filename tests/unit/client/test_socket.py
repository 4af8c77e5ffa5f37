"""The socket of the blocking client, at a server that says what the test says."""

import contextlib
import functools
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.server import ServerProtocol
from websockets.sync.client import connect
from websockets.sync.server import Server, ServerConnection, serve

from openenv_core.client._effects import ConnectionGoneError
from openenv_core.client._socket import BlockingSocket
from openenv_core.errors import MessageTooLargeError
from openenv_core.settings import ClientSettings

Handler = Callable[[ServerConnection], None]

MAKE: Any = functools.partial(BlockingSocket, lock=threading.RLock())


@contextlib.contextmanager
def connected(handler: Handler, **settings: Any) -> Iterator[BlockingSocket]:
    """A socket to a server whose connections the handler has."""
    server: Server = serve(handler, "127.0.0.1", 0, ping_interval=None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    chosen = ClientSettings(**settings)
    port = server.socket.getsockname()[1]
    made: Any = connect(
        f"ws://127.0.0.1:{port}",
        create_connection=MAKE,
        compression=None,
        proxy=None,
        legacy=True,
        max_size=int(chosen.max_message_size_mb * 2**20),
    )
    made.keep_alive(chosen)
    try:
        yield made
    finally:
        made.close()
        server.shutdown()
        thread.join(15)


def test_messages_come_in_order_however_they_are_cut() -> None:
    def handler(connection: ServerConnection) -> None:
        for message in connection:
            connection.send(message)
            connection.send(iter(["in ", "three ", "pieces ü"]))

    with connected(handler) as found:
        found.send(b"one")
        found.send("zwei ü".encode())
        assert [found.receive(10.0) for _ in range(4)] == ["one", "in three pieces ü", "zwei ü", "in three pieces ü"]


def test_a_large_message_both_ways() -> None:
    def handler(connection: ServerConnection) -> None:
        for message in connection:
            connection.send(message)

    large = "x" * 900_000
    with connected(handler) as found:
        found.send(large.encode())
        assert found.receive(20.0) == large


def test_silence_has_a_limit_and_costs_nothing() -> None:
    go = threading.Event()

    def handler(connection: ServerConnection) -> None:
        go.wait(15)
        connection.send("late")

    with connected(handler) as found:
        with pytest.raises(TimeoutError):
            found.receive(0.05)
        with pytest.raises(TimeoutError):
            found.receive(-1.0)
        go.set()
        assert found.receive(10.0) == "late"


def test_a_close_is_told_with_its_code_and_reason_and_what_was_said_before_is_heard() -> None:
    def handler(connection: ServerConnection) -> None:
        connection.send("last word")
        connection.close(4000, "idle_timeout")

    with connected(handler) as found:
        assert found.receive(10.0) == "last word"
        for _ in range(2):
            with pytest.raises(ConnectionGoneError) as caught:
                found.receive(10.0)
            assert (caught.value.code, caught.value.reason) == (4000, "idle_timeout")
        with pytest.raises(ConnectionGoneError):
            found.send(b"anyone there?")
        assert found.ended


def test_the_last_word_is_the_answer_to_whatever_is_asked_after_it() -> None:
    said = threading.Event()

    def handler(connection: ServerConnection) -> None:
        connection.send("the server is full")
        connection.close(1000)
        said.set()

    with connected(handler) as found:
        said.wait(15)
        found.send(b"may I?")
        assert found.receive(10.0) == "the server is full"


def test_a_connection_that_breaks_without_a_word() -> None:
    def handler(connection: ServerConnection) -> None:
        connection.recv()
        connection.socket.shutdown(2)

    with connected(handler) as found:
        found.send(b"hello")
        with pytest.raises(ConnectionGoneError) as caught:
            found.receive(10.0)
        assert caught.value.code is None


def test_a_message_that_is_too_large_names_the_limit_and_the_setting() -> None:
    def handler(connection: ServerConnection) -> None:
        with contextlib.suppress(Exception):
            connection.send("x" * 2000)
            connection.recv()

    with connected(handler, max_message_size_mb=1000 / 2**20) as found:
        with pytest.raises(MessageTooLargeError, match="max_message_size_mb") as caught:
            found.receive(10.0)
        assert caught.value.details == {"limit": 1000}


def test_pings_are_answered_while_nobody_is_in_a_call() -> None:
    ponged = threading.Event()

    def handler(connection: ServerConnection) -> None:
        if connection.ping().wait(15):
            ponged.set()

    with connected(handler):
        assert ponged.wait(15)


def test_pings_are_answered_during_a_call() -> None:
    def handler(connection: ServerConnection) -> None:
        if connection.ping().wait(15):
            connection.send("ponged")
            connection.recv()

    with connected(handler) as found:
        assert found.receive(15.0) == "ponged"


def test_a_peer_that_does_not_answer_pings_is_given_up() -> None:
    over = threading.Event()

    with silent_server(over) as port:
        made: Any = connect(
            f"ws://127.0.0.1:{port}",
            create_connection=MAKE,
            compression=None,
            proxy=None,
            legacy=True,
        )
        made.keep_alive(ClientSettings(websocket_ping_interval_s=0.05, websocket_ping_timeout_s=0.1))
        with pytest.raises(ConnectionGoneError, match="keepalive ping timeout"):
            made.receive(15.0)
        made.close()
        over.set()


@contextlib.contextmanager
def silent_server(over: threading.Event) -> Iterator[int]:
    """Shakes hands and is never heard of again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            peer, _ = listener.accept()
            with peer:
                protocol = ServerProtocol()
                while not (events := protocol.events_received()):
                    protocol.receive_data(peer.recv(65536))
                protocol.send_response(protocol.accept(events[0]))  # type: ignore[arg-type]
                for data in protocol.data_to_send():
                    peer.sendall(data)
                over.wait(15)

        thread = threading.Thread(target=run)
        thread.start()
        yield listener.getsockname()[1]
        over.set()
        thread.join(15)
