"""The head of a request, sent slowly, without an end, or not at all."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from openenv_core.server.transport import BoundedHttpProtocol, bounded_protocol
from openenv_core.settings import ServerSettings
from tests.server.toys import Parrot, cut_off, raw_connection, socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(Parrot, limits={"request_timeout_s": 0.3, "max_header_bytes": 4000}) as running:
        yield running


def rest_of(connection: socket.socket) -> bytes:
    connection.settimeout(LIMIT_S)
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def connections(served: Served) -> int:
    return len(served.server.server_state.connections)


def test_the_class_has_the_limits_of_the_settings() -> None:
    made = bounded_protocol(ServerSettings(max_header_bytes=77, request_timeout_s=5.0))
    assert issubclass(made, BoundedHttpProtocol)
    assert (made.max_header_bytes, made.header_timeout_s) == (77, 5.0)
    assert BoundedHttpProtocol.max_header_bytes != 77


def test_a_connection_that_says_nothing_is_closed(served: Served) -> None:
    with raw_connection(served) as connection:
        assert rest_of(connection) == b""


@pytest.mark.parametrize("head", [b"GET /hea", b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nX: y"])
def test_a_head_that_drips_is_given_up(served: Served, head: bytes) -> None:
    with raw_connection(served) as connection:
        connection.sendall(head)
        assert rest_of(connection).startswith(b"HTTP/1.1 408")


def test_a_head_without_an_end_is_cut_off_long_before_it_fills_the_memory(served: Served) -> None:
    with raw_connection(served) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        assert cut_off(connection, (b"X-%d: %b\r\n" % (number, b"y" * 1000) for number in range(100_000)))


def test_a_long_head_is_told_why(served: Served) -> None:
    with raw_connection(served) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX: " + b"y" * 6000)
        assert rest_of(connection).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("headers", ["X: y\r\n" * 200, "X: " + "y" * 8500 + "\r\n"])
def test_a_handshake_that_the_websocket_parser_does_not_take_is_told_so(headers: str) -> None:
    head = (
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"{headers}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with serving(Parrot) as served, raw_connection(served) as connection:
        connection.sendall(head.encode())
        assert rest_of(connection).startswith(b"HTTP/1.1 431")
        eventually(lambda: connections(served) == 0)


def test_one_connection_serves_many_requests(served: Served) -> None:
    with raw_connection(served) as connection:
        for _ in range(20):
            connection.sendall(HEALTH + HEALTH)
            seen = b""
            while seen.count(b"healthy") < 2:
                seen += connection.recv(65536)


def test_the_head_of_a_second_request_may_not_drip_either(served: Served) -> None:
    with raw_connection(served) as connection:
        connection.sendall(HEALTH)
        assert b"healthy" in connection.recv(65536)
        connection.sendall(b"GET /hea")
        assert b"HTTP/1.1 408" in rest_of(connection)


def test_slow_connections_do_not_keep_others_out_and_are_all_gone_in_the_end(served: Served) -> None:
    drips = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(50)]
    try:
        for drip in drips:
            drip.sendall(b"GET /ws HT")
        assert httpx.get(f"{served.base_url}/health", trust_env=False).status_code == 200
        eventually(lambda: connections(served) <= 1)
    finally:
        for drip in drips:
            drip.close()


def test_a_websocket_outlives_the_limit_of_its_handshake(served: Served) -> None:
    with socket_of(served) as opened:
        with raw_connection(served) as silent:
            assert rest_of(silent) == b""  # so long has passed
        opened.send('{"type":"state"}')
        assert '"state"' in opened.recv(timeout=LIMIT_S)
