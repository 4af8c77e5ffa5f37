"""uvicorn's HTTP protocol with an end to its patience: heads of requests are bounded in bytes and in time.

uvicorn itself waits for ever for a request to begin, and keeps whatever headers come.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from openenv_core.settings import ServerSettings

__all__ = ["BoundedHttpProtocol", "bounded_protocol"]


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection, until it becomes a WebSocket or ends.

    Class attributes:
        max_header_bytes: a head that is longer, and not complete yet, ends the connection with status 431.
        header_timeout_s: so does one that is not complete after so many seconds, with status 408; a connection on
            which nothing at all came is closed without a word.
    """

    max_header_bytes: ClassVar[int] = 32 * 2**10
    header_timeout_s: ClassVar[float] = 20.0

    _head_bytes = 0
    _in_head = False
    _begun = False
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._end_head()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start waiting for the head of a further request on the same connection."""
        super().on_message_begin()
        if not self._in_head:
            self._await_head()
        self._begun = True

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._end_head()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take what came, and hang up where it is too long for a head."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.max_header_bytes:
            self._hang_up(b"431 Request Header Fields Too Large")

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection to the WebSocket protocol, and hang up where that does not take the handshake."""
        super().handle_websocket_upgrade()
        # Its parser has limits of its own (128 headers, 8 KiB a line); uvicorn does not see it give up, and would keep
        # the connection for as long as its client likes.
        conn = getattr(self.transport.get_protocol(), "conn", None)
        if getattr(conn, "handshake_exc", None) is not None:
            self._hang_up(b"431 Request Header Fields Too Large")

    def _await_head(self) -> None:
        self._in_head, self._begun, self._head_bytes = True, False, 0
        self._patience = self.loop.call_later(self.header_timeout_s, self._give_up)

    def _end_head(self) -> None:
        self._in_head = False
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._hang_up(b"408 Request Timeout" if self._begun else b"")

    def _hang_up(self, status: bytes) -> None:
        self._end_head()
        if status and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
        self.transport.close()


def bounded_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """The protocol class with the limits of these settings."""
    limits = {"max_header_bytes": settings.max_header_bytes, "header_timeout_s": settings.request_timeout_s}
    return type("BoundedHttpProtocol", (BoundedHttpProtocol,), limits)
