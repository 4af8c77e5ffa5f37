"""The one way out of the browser: a proxy on the loopback that serves the task pages and refuses the rest.

Chromium is started with this proxy for everything, loopback addresses included, so each request of each page, frame,
worker and socket comes here, and so does every hop of a redirect. The pages live at an origin that exists only here.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from browsergym_env_server.origins import Origin
from browsergym_env_server.pages import PageFolder
from openenv_core.errors import ConfigurationError

__all__ = ["PAGES_ORIGIN", "Gate"]

PAGES_ORIGIN: Final = Origin("http", "miniwob.localhost", 80)
"""Where the pages are, as the browser sees it: the same on every machine, so that observations are. Names under
``localhost`` never leave a machine (RFC 6761), and browsers trust them as they trust https."""

_HEAD_LIMIT = 64 * 1024
_IDLE_LIMIT_S = 120.0
_CONNECT_LIMIT_S = 10.0
_CHUNK = 64 * 1024

# Documents of the pages' own origin may be framed; data:, blob: and all else may not. Workers likewise, plug-ins none.
_POLICY = "frame-src 'self'; object-src 'none'; worker-src 'self'; base-uri 'self'; form-action 'self'"
_HOP_HEADERS = frozenset({"connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "upgrade"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Request:
    method: str
    target: str
    headers: list[tuple[str, str]]

    @property
    def keeps_alive(self) -> bool:
        told = {value.lower() for name, value in self.headers if name in ("connection", "proxy-connection")}
        return "close" not in told


class Gate:
    """The proxy.

    Args:
        pages: what is served at :data:`PAGES_ORIGIN`; ``None`` where the pages are elsewhere.
        allowed: the other origins that may be reached.

    Attributes:
        refused: how many requests were refused.
        port: where it listens on 127.0.0.1, once started.
    """

    def __init__(self, pages: PageFolder | None, allowed: Iterable[Origin]) -> None:
        self._pages = pages
        self._allowed = frozenset(allowed)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.refused = 0
        self.port = 0

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1, at a free port where none is given.

        Raises:
            ConfigurationError: the port is taken.
        """
        try:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", port, limit=_HEAD_LIMIT)
        except OSError as error:
            raise ConfigurationError(f"MINIWOB_HTTP_PORT={port}: {error.strerror or error}") from error
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Listen no more and cut what is open."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._connections:
            connection.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async for request in _requests(reader):
                if not await self._answer(request, reader, writer) or not request.keeps_alive:
                    return
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ValueError) as error:
            _log.debug("a connection of the browser ended: %r", error)
        finally:
            writer.close()

    async def _answer(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; returns whether the connection can carry another."""
        if request.method == "CONNECT":
            return await self._tunnel(request, reader, writer)
        try:
            is_direct = request.target.startswith("/")
            origin = PAGES_ORIGIN if is_direct else Origin.of(request.target)
        except ValueError:
            return await self._refuse(writer, request)
        if origin == PAGES_ORIGIN and self._pages is not None:
            return await self._send_page(self._pages, request, writer)
        if origin in self._allowed and not is_direct:
            await self._forward(origin, request, reader, writer)
            return False
        return await self._refuse(writer, request)

    async def _send_page(self, pages: PageFolder, request: _Request, writer: asyncio.StreamWriter) -> bool:
        if request.method not in ("GET", "HEAD"):
            await _send(writer, "405 Method Not Allowed", b"", "Connection: close")
            return False
        asset = pages.read(unquote(urlsplit(request.target).path).lstrip("/"))
        if asset is None:
            return await _send(writer, "404 Not Found", b"there is no such page")
        headers = [f"Content-Type: {asset.media_type}", "Cache-Control: max-age=86400"]
        headers += [f"Content-Security-Policy: {_POLICY}", "X-Content-Type-Options: nosniff"]
        body = asset.body if request.method == "GET" else b""
        return await _send(writer, "200 OK", body, *headers, length=len(asset.body))

    async def _refuse(self, writer: asyncio.StreamWriter, request: _Request) -> bool:
        self.refused += 1
        _log.info("refused: %s %.200s", request.method, request.target)
        await _send(writer, "403 Forbidden", b"this address is outside what the browser may reach", "Connection: close")
        return False

    async def _tunnel(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """``CONNECT``: how browsers reach https and open WebSockets. What passes inside is not looked at."""
        host, _, port = request.target.rpartition(":")
        name = host.strip("[]").lower()
        wanted = {Origin(scheme, name, int(port)) for scheme in ("http", "https")} if port.isdigit() else set()
        origin = next(iter(wanted & self._allowed), None)
        if origin is None:
            return await self._refuse(writer, request)
        upstream = await _connect(origin, writer)
        if upstream is not None:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _splice(reader, writer, *upstream)
        return False

    async def _forward(
        self, origin: Origin, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        upstream = await _connect(origin, writer)
        if upstream is None:
            return
        parts = urlsplit(request.target)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kept = [f"{name}: {value}" for name, value in request.headers if name not in _HOP_HEADERS]
        # One request a connection: where its body ends is then the far server's business alone.
        head = [f"{request.method} {path} HTTP/1.1", f"Host: {origin.authority}", "Connection: close", *kept, "", ""]
        upstream[1].write("\r\n".join(head).encode("latin-1"))
        await _splice(reader, writer, *upstream)


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[_Request]:
    """The heads of the requests on a connection. Requests for pages have no body; others end the connection."""
    while True:
        async with asyncio.timeout(_IDLE_LIMIT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        fields = [line.partition(":") for line in lines if ":" in line]
        yield _Request(method, target, [(name.strip().lower(), value.strip()) for name, _, value in fields])


async def _send(
    writer: asyncio.StreamWriter, status: str, body: bytes, *headers: str, length: int | None = None
) -> bool:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
    writer.write("\r\n".join(head).encode("latin-1") + body)
    await writer.drain()
    return True


async def _connect(
    origin: Origin, writer: asyncio.StreamWriter
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    try:
        async with asyncio.timeout(_CONNECT_LIMIT_S):
            return await asyncio.open_connection(origin.host, origin.port)
    except (OSError, TimeoutError) as error:
        _log.info("%s is not reachable: %s", origin, error)
        await _send(writer, "502 Bad Gateway", b"the address is not reachable", "Connection: close")
        return None


async def _splice(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    """Pass bytes both ways until the far end is done or either way breaks."""
    sending = asyncio.create_task(_copy(reader, far_writer))
    try:
        await _copy(far_reader, writer)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
