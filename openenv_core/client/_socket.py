"""A WebSocket for blocking code: reads in the caller's own thread, and stays alive while nobody reads.

The protocol is the sans-I/O half of ``websockets``; its connector resolves proxies, TLS and redirects. What is ours is
who reads: the caller, while it waits for a reply, so that a step costs no change of threads; and in the long silences
between calls, one thread for all sockets of the process, which answers pings and sends them.
"""

import contextlib
import os
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from typing import Any, Protocol

from websockets.client import ClientProtocol
from websockets.datastructures import HeadersLike
from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State

from openenv_core.client._effects import ConnectionGoneError
from openenv_core.errors import MessageTooLargeError
from openenv_core.settings import ClientSettings

__all__ = ["BlockingSocket", "watch"]

_READ_BYTES = 1 << 18
_ROUND_S = 1.0
"""So often an idle socket is looked after: well within the 20 s that servers wait for a pong."""

_SLICE_S = 1.0

_STALL_S = 20.0
"""A peer that takes no byte of a message for so long is gone."""


class _NoThread:
    """Stands where the connector expects its own reading thread."""

    def join(self) -> None:
        return None


class BlockingSocket:
    """One connection. Every method but :meth:`serve_idle` belongs to the thread that holds the client's lock.

    Made by the connector of ``websockets`` through its ``create_connection`` argument, which calls :meth:`handshake`,
    :meth:`start_keepalive` and, on a failed handshake, :meth:`close_socket`.
    """

    recv_events_thread = _NoThread()

    def __init__(self, sock: socket.socket, protocol: ClientProtocol, *, lock: threading.RLock, **_: Any) -> None:
        self._socket = sock
        self._protocol = protocol
        self._messages: deque[str] = deque()
        self._parts: list[bytes] = []
        self._pid = os.getpid()
        self._ping_due = float("inf")
        self._ping_interval_s: float | None = None
        self._ping_timeout_s: float | None = None
        self._unanswered_ping: bytes | None = None
        self._broken = False
        self._slice_s: float | None = None
        self.lock = lock
        self.pending_legacy_warning = False
        self.max_size = 0

    def handshake(
        self,
        additional_headers: HeadersLike | None = None,
        user_agent_header: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Upgrade the connection. Raises what the connector of ``websockets`` documents."""
        request = self._protocol.connect()
        if additional_headers is not None:
            request.headers.update(additional_headers)
        if user_agent_header is not None:
            request.headers.setdefault("User-Agent", user_agent_header)
        self._protocol.send_request(request)
        self._flush()
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError("timed out while waiting for handshake response")
            self._read(left)
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc

    def start_keepalive(self) -> None:
        """Nothing yet: :meth:`keep_alive` knows the settings."""

    def keep_alive(self, settings: ClientSettings) -> None:
        """Look after the socket between calls; send pings, and mind an unanswered one, as the settings say."""
        self._ping_interval_s = settings.websocket_ping_interval_s
        self._ping_timeout_s = settings.websocket_ping_timeout_s
        self.max_size = int(settings.max_message_size_mb * 2**20)
        if self._ping_interval_s is not None:
            self._ping_due = time.monotonic() + self._ping_interval_s
        _keeper.watch(self)

    @property
    def subprotocol(self) -> str | None:
        """What the server picked."""
        return self._protocol.subprotocol

    @property
    def inherited(self) -> bool:
        """Whether the socket belongs to the process from which this one was forked."""
        return os.getpid() != self._pid

    def send(self, message: bytes) -> None:
        """Send a text message. On a connection that has ended it goes nowhere, if something is left to be received:
        the last that a server says, a refusal for want of room perhaps, is its answer to whatever is asked.

        Raises:
            ConnectionGoneError: the connection has ended.
        """
        try:
            self._protocol.send_text(message)
            self._flush(_STALL_S)
        except (InvalidState, OSError):
            self._read_rest()
            if not self._messages:
                raise self._gone() from None

    def receive(self, limit_s: float) -> str:
        """The next message.

        Raises:
            TimeoutError: none came within ``limit_s`` seconds.
            ConnectionGoneError: the connection has ended.
            MessageTooLargeError: it is larger than this client accepts.
        """
        deadline = time.monotonic() + limit_s
        while not self._messages:
            if self._broken or self._protocol.state is State.CLOSED:
                raise self._gone()
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError
            self._mind_pings(now)
            self._read(min(deadline, self._ping_due) - now)
        return self._messages.popleft()

    def serve_idle(self) -> None:
        """Answer and send pings, while nobody is in a call on this socket."""
        lock = self.lock
        if not lock.acquire(blocking=False):
            return  # the caller reads, and answers pings itself
        try:
            if lock is not self.lock:
                return  # in this very moment the socket got another client
            with contextlib.suppress(ConnectionGoneError):
                while self._protocol.state is not State.CLOSED and not self._broken and self._read(0):
                    pass
                self._mind_pings(time.monotonic())
        finally:
            lock.release()

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""
        return self._broken or self._protocol.state is State.CLOSED

    def close(self) -> None:
        """Say goodbye, without waiting for the answer, and free the descriptor."""
        if not self.inherited:
            with contextlib.suppress(OSError, InvalidState):
                self._protocol.send_close(1000)
                self._flush()
        self.close_socket()

    def close_socket(self) -> None:
        """Free the descriptor."""
        self._broken = True
        self._socket.close()

    def _flush(self, stall_s: float = _SLICE_S) -> None:
        if self._slice_s != _SLICE_S:
            self._socket.settimeout(_SLICE_S)
            self._slice_s = _SLICE_S
        try:
            for data in self._protocol.data_to_send():
                if data:
                    self._send_all(data, stall_s)
                else:
                    with contextlib.suppress(OSError):
                        self._socket.shutdown(socket.SHUT_WR)
        except BaseException:
            self._broken = True  # part of a frame may be out: nothing can follow it
            raise

    def _send_all(self, data: bytes, stall_s: float) -> None:
        """Send every byte, however slow the network, as long as it takes any."""
        left = memoryview(data)
        stalled_s = 0.0
        while left:
            try:
                left = left[self._socket.send(left) :]
                stalled_s = 0.0
            except (TimeoutError, ssl.SSLWantWriteError):
                stalled_s += _SLICE_S
                if stalled_s >= stall_s:
                    raise
                # The peer may wait for us to read before it reads on.
                self._protocol.receive_data(self._receive_now())
                self._take_events()

    def _receive_now(self) -> bytes:
        self._socket.settimeout(0.0)
        try:
            return self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        finally:
            self._socket.settimeout(_SLICE_S)

    def _read(self, limit_s: float | None) -> bool:
        """Take in what has arrived, waiting for it up to ``limit_s``; returns whether anything did."""
        # Slices of a fixed length: a change of the time-out is a system call, and a step should make none for it.
        slice_s = _SLICE_S if limit_s is None or limit_s > _SLICE_S else max(limit_s, 0.0)
        if slice_s != self._slice_s:
            self._socket.settimeout(slice_s)
            self._slice_s = slice_s
        try:
            data = self._socket.recv(_READ_BYTES)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:
            data = b""
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        self._take_events()
        with contextlib.suppress(OSError):
            self._flush()
        if not data:
            self._broken = True
        return True

    def _read_rest(self) -> None:
        """A send has failed: what the server said before it went may tell why."""
        deadline = time.monotonic() + 0.5
        while not self._broken and time.monotonic() < deadline:
            self._read(deadline - time.monotonic())
        self._broken = True

    def _take_events(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Response):
                continue
            assert isinstance(event, Frame)
            if event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._parts.append(bytes(event.data))
                if event.fin:
                    self._messages.append(b"".join(self._parts).decode())
                    self._parts = []
            elif event.opcode is Opcode.PONG and bytes(event.data) == self._unanswered_ping:
                self._unanswered_ping = None
                self._ping_due = time.monotonic() + (self._ping_interval_s or 0)

    def _mind_pings(self, now: float) -> None:
        if now < self._ping_due or self._protocol.state is not State.OPEN:
            return
        if self._unanswered_ping is not None:
            self._protocol.fail(1011, "keepalive ping timeout")
            with contextlib.suppress(OSError):
                self._flush()
            self._broken = True
            raise self._gone()
        self._unanswered_ping = os.urandom(4)
        self._ping_due = float("inf") if self._ping_timeout_s is None else now + self._ping_timeout_s
        self._protocol.send_ping(self._unanswered_ping)
        with contextlib.suppress(OSError):
            self._flush()

    def _gone(self) -> Exception:
        code, reason = self._protocol.close_code, self._protocol.close_reason or ""
        sent = self._protocol.close_sent
        if sent is not None and sent.code == 1009 and self._protocol.close_rcvd is None:
            return MessageTooLargeError(
                f"the server sent a message larger than this client accepts, {self.max_size} bytes; raise "
                f"max_message_size_mb ({sent.reason})",
                limit=self.max_size,
            )
        if sent is not None and self._protocol.close_rcvd is None and sent.reason:
            reason = sent.reason
        return ConnectionGoneError(None if code == 1006 else code, reason)


class _Minded(Protocol):
    """What the keeper looks after."""

    @property
    def ended(self) -> bool: ...

    def serve_idle(self) -> None: ...


class _Keeper:
    """One daemon thread that looks after all idle sockets of the process, and ends when there are none."""

    def __init__(self) -> None:
        self._sockets: weakref.WeakSet[_Minded] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, connection: _Minded) -> None:
        with self._lock:
            self._sockets.add(connection)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="openenv-keepalive", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(_ROUND_S)
            with self._lock:
                watched = [connection for connection in self._sockets if not connection.ended]
                if not watched:
                    self._thread = None
                    return
            for connection in watched:
                connection.serve_idle()
            del watched, connection

    def forget_parent(self) -> None:
        """After a fork: the thread and the sockets belong to the parent."""
        self.__init__()  # type: ignore[misc]


_keeper = _Keeper()
watch = _keeper.watch
"""Have something looked after about once a second, until it has ended or is gone."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keeper.forget_parent)
