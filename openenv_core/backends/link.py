"""Messages between a server and its worker processes: numbered, over a socket pair, never blocking the loop."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

__all__ = ["Link", "connect"]

_HEAD = struct.Struct("!QQ")
"""Length of what follows, and its number."""

Receive = Callable[[int, bytes], None]


class Link(asyncio.Protocol):
    """One end of the socket pair.

    Args:
        receive: told the number and the bytes of every message that comes.

    Attributes:
        ended: set when the other end is gone.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._buffer = bytearray()
        self._transport: asyncio.WriteTransport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _HEAD.size:
            length, number = _HEAD.unpack_from(self._buffer, start)
            end = start + _HEAD.size + length
            if len(self._buffer) < end:
                break
            message = bytes(memoryview(self._buffer)[start + _HEAD.size : end])
            start = end
            self._receive(number, message)
        del self._buffer[:start]

    def connection_lost(self, error: Exception | None) -> None:
        """Called by the loop."""
        if not self.ended.done():
            self.ended.set_result(None)

    def send(self, number: int, message: bytes) -> None:
        """Send a message. On a link that has ended it goes nowhere."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines((_HEAD.pack(len(message), number), message))

    def close(self) -> None:
        """End the link, after what was sent."""
        if self._transport is not None:
            self._transport.close()


async def connect(sock: socket.socket, receive: Receive) -> Link:
    """This end of a socket pair as a link."""
    _, link = await asyncio.get_running_loop().create_unix_connection(lambda: Link(receive), sock=sock)
    return link
