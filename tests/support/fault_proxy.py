"""A TCP proxy on the loopback interface that breaks what passes through it, on command."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from enum import Enum, auto
from types import TracebackType
from typing import Self, TypeVar

__all__ = ["Direction", "FaultProxy"]

T = TypeVar("T")

_CHUNK_BYTES = 16 * 1024
_LIMIT_S = 10.0
_LINGER_ZERO = struct.pack("ii", 1, 0)


class Direction(Enum):
    """Which way bytes go."""

    TO_SERVER = auto()
    TO_CLIENT = auto()


class _Way:
    """One direction of one connection: until when it works."""

    def __init__(self) -> None:
        self.bytes_left: int | None = None
        self.loses = False


class _Link:
    """One connection through the proxy: a socket to each side."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._writers = client, server
        self.ways = {direction: _Way() for direction in Direction}

    def cut(self) -> None:
        """End it as a crashed peer or a router does: a reset to both sides, whatever was under way is lost."""
        for writer in self._writers:
            sock = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            writer.transport.abort()


class FaultProxy:
    """Passes connections on to ``port``, and breaks them when told to. Methods may be called from any thread.

    Attributes:
        base_url: where clients connect.
        accepted: connections so far.
        delay_s: every piece of data is held back for so long.
        bytes_per_s: how fast data passes, each way of each connection; ``None`` for no limit.
        refuses: new connections are cut at once.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._links: set[_Link] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._flowing = asyncio.Event()
        self.base_url = ""
        self.accepted = 0
        self.delay_s = 0.0
        self.bytes_per_s: float | None = None
        self.refuses = False

    def __enter__(self) -> Self:
        self._thread.start()
        listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._flowing.set()
        starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, sock=listener), self._loop)
        self._server = starting.result(_LIMIT_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LIMIT_S)
        self._loop.close()

    def cut(self) -> None:
        """Break every connection there is."""

        def cut() -> None:
            for link in list(self._links):
                link.cut()

        self._do(cut)

    def cut_after(self, count: int, direction: Direction) -> None:
        """Break each connection there is when ``count`` more bytes have passed in that direction, be it amid a frame:
        those bytes arrive, and nothing after them."""

        def arm() -> None:
            for link in self._links:
                link.ways[direction].bytes_left = count

        self._do(arm)

    def lose(self, direction: Direction) -> None:
        """From now on, what goes in that direction through the connections there are vanishes; they stay open."""

        def arm() -> None:
            for link in self._links:
                link.ways[direction].loses = True

        self._do(arm)

    def freeze(self) -> None:
        """Nothing passes any more, not even the end of a connection; both sides think that they are connected."""
        self._do(self._flowing.clear)

    def thaw(self) -> None:
        """End :meth:`freeze`: what was held back arrives."""
        self._do(self._flowing.set)

    @property
    def connections(self) -> int:
        """Number of connections open at the moment."""
        return self._do(lambda: len(self._links))

    def _do(self, action: Callable[[], T]) -> T:
        async def run() -> T:
            return action()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(_LIMIT_S)

    async def _stop(self) -> None:
        self._server.close()
        for link in list(self._links):
            link.cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self.refuses:
            _Link(writer, writer).cut()
            return
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            _Link(writer, writer).cut()
            return
        link = _Link(writer, server_writer)
        self._links.add(link)
        try:
            await asyncio.gather(
                self._pump(link, reader, server_writer, Direction.TO_SERVER),
                self._pump(link, server_reader, writer, Direction.TO_CLIENT),
            )
        except (OSError, asyncio.CancelledError):
            link.cut()
        finally:
            self._links.discard(link)
            writer.close()
            server_writer.close()

    async def _pump(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction
    ) -> None:
        way = link.ways[direction]
        while data := await reader.read(_CHUNK_BYTES):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if self.bytes_per_s is not None:
                await asyncio.sleep(len(data) / self.bytes_per_s)
            await self._flowing.wait()
            if way.loses:
                continue
            if way.bytes_left is not None:
                data, way.bytes_left = data[: way.bytes_left], way.bytes_left - len(data)
            writer.write(data)
            await writer.drain()
            if way.bytes_left is not None and way.bytes_left <= 0:
                await asyncio.sleep(0)
                link.cut()
                return
        await self._flowing.wait()
        if not way.loses and writer.can_write_eof():
            writer.write_eof()
