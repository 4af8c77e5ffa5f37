"""The proxy: it serves the pages, passes on what is listed, refuses the rest. Without a browser."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from browsergym_env_server.gate import PAGES_ORIGIN, Gate
from browsergym_env_server.origins import Origin
from browsergym_env_server.pages import find_pages
from openenv_core.errors import ConfigurationError

_LIMIT_S = 10.0
_FAR_BODY = b"from afar"

Ask = Callable[[str], Awaitable[bytes]]


@asynccontextmanager
async def _far_server() -> AsyncIterator[tuple[Origin, list[bytes]]]:
    """A server outside; what it is sent is kept."""
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + _FAR_BODY)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield Origin("http", "127.0.0.1", server.sockets[0].getsockname()[1]), received


@asynccontextmanager
async def _gate(*allowed: Origin) -> AsyncIterator[tuple[Gate, Ask]]:
    gate = Gate(find_pages(None), allowed)
    await gate.start()

    async def ask(head: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(_LIMIT_S):
            answer = await reader.read()
        writer.close()
        return answer

    try:
        yield gate, ask
    finally:
        gate.stop()


def test_pages_are_served_with_a_policy() -> None:
    async def main() -> None:
        async with _gate() as (gate, ask):
            head, _, body = (await ask(f"GET {PAGES_ORIGIN}/miniwob/click-test.html HTTP/1.1")).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert b"Content-Type: text/html\r\n" in head
            assert b"Content-Security-Policy: frame-src 'self'" in head
            assert b"Click Test Task" in body
            assert (await ask(f"GET {PAGES_ORIGIN}/miniwob/no.html HTTP/1.1")).startswith(b"HTTP/1.1 404")
            assert (await ask(f"POST {PAGES_ORIGIN}/miniwob/click-test.html HTTP/1.1")).startswith(b"HTTP/1.1 405")
            assert (await ask(f"GET {PAGES_ORIGIN}/%2e%2e/%2e%2e/etc/passwd HTTP/1.1")).startswith(b"HTTP/1.1 404")
            assert gate.refused == 0

    asyncio.run(main())


def test_a_connection_carries_many_requests() -> None:
    async def main() -> None:
        async with _gate() as (gate, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
            for _ in range(3):
                writer.write(f"HEAD {PAGES_ORIGIN}/core/core.js HTTP/1.1\r\n\r\n".encode())
                async with asyncio.timeout(_LIMIT_S):
                    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            writer.close()

    asyncio.run(main())


@pytest.mark.parametrize("request_line", ["GET http://127.0.0.1:{port}/ HTTP/1.1", "CONNECT 127.0.0.1:{port} HTTP/1.1"])
def test_what_is_not_listed_gets_no_connection(request_line: str) -> None:
    async def main() -> None:
        async with _far_server() as (far, received), _gate() as (gate, ask):
            assert (await ask(request_line.format(port=far.port))).startswith(b"HTTP/1.1 403")
            assert gate.refused == 1
            assert received == []

    asyncio.run(main())


@pytest.mark.parametrize(
    "line", ["GET file:///etc/passwd HTTP/1.1", "GET nonsense HTTP/1.1", "CONNECT nonsense HTTP/1.1"]
)
def test_what_is_no_address_is_refused(line: str) -> None:
    async def main() -> None:
        async with _gate() as (_, ask):
            assert (await ask(line)).startswith(b"HTTP/1.1 403")

    asyncio.run(main())


def test_what_is_listed_is_passed_on() -> None:
    async def main() -> None:
        async with _far_server() as (far, received), _gate(far) as (gate, ask):
            asked = f"GET {far}/a?b=1 HTTP/1.1\r\nHost: another\r\nProxy-Connection: keep-alive\r\nX-Own: 1"
            assert (await ask(asked)).endswith(_FAR_BODY)
            sent = received[0].decode()
            assert sent.startswith(f"GET /a?b=1 HTTP/1.1\r\nHost: {far.authority}\r\n")
            assert "x-own: 1" in sent
            assert "another" not in sent
            assert "proxy" not in sent.lower()
            assert gate.refused == 0

    asyncio.run(main())


def test_a_tunnel_to_what_is_listed() -> None:
    async def main() -> None:
        async with _far_server() as (far, _), _gate(far) as (gate, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
            writer.write(f"CONNECT {far.authority} HTTP/1.1\r\n\r\n".encode())
            async with asyncio.timeout(_LIMIT_S):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                assert (await reader.read()).endswith(_FAR_BODY)
            writer.close()

    asyncio.run(main())


def test_what_is_listed_but_down_is_told() -> None:
    async def main() -> None:
        async with _gate(Origin("http", "127.0.0.1", 1)) as (_, ask):
            assert (await ask("GET http://127.0.0.1:1/ HTTP/1.1")).startswith(b"HTTP/1.1 502")

    asyncio.run(main())


def test_a_port_that_is_taken_is_named() -> None:
    async def main() -> None:
        async with _gate() as (gate, _):
            with pytest.raises(ConfigurationError, match="MINIWOB_HTTP_PORT"):
                await Gate(None, ()).start(gate.port)

    asyncio.run(main())
