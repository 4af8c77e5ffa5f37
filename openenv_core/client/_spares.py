"""Connections that their clients have closed, kept for a moment for the next client to the same server.

A trainer opens a fresh session for every episode; shaking hands anew each time costs more than the session itself.
"""

import os
import threading
import time
from collections.abc import Hashable
from typing import NamedTuple

from openenv_core.client._socket import BlockingSocket, watch
from openenv_core.wire.frames import HelloData

__all__ = ["KEPT_PER_SERVER", "KEPT_S", "spares"]

KEPT_S = 5.0
"""Seconds that an idle connection is kept."""

KEPT_PER_SERVER = 8
"""Idle connections that are kept to one server, with one set of settings."""


class _Spare(NamedTuple):
    connection: BlockingSocket
    hello: HelloData
    until: float


class _Spares:
    """Idle connections by server and settings. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[Hashable, list[_Spare]] = {}

    def put(self, key: Hashable, connection: BlockingSocket, hello: HelloData) -> None:
        """Keep a connection that carries no session; it is closed where there are enough."""
        connection.lock = threading.RLock()
        with self._lock:
            kept = self._by_key.setdefault(key, [])
            if len(kept) < KEPT_PER_SERVER:
                kept.append(_Spare(connection, hello, time.monotonic() + KEPT_S))
                watch(self)
                return
        connection.close()

    def take(self, key: Hashable, lock: "threading.RLock") -> tuple[BlockingSocket, HelloData] | None:
        """A live connection, from here on under its new client's lock; ``None`` where there is none."""
        while True:
            with self._lock:
                kept = self._by_key.get(key)
                spare = kept.pop() if kept else None
                if not kept:
                    self._by_key.pop(key, None)
            if spare is None:
                return None
            connection = spare.connection
            connection.serve_idle()  # what has arrived tells whether it is still good
            with connection.lock:  # not while the keeper reads from it
                connection.lock = lock
            if not connection.ended and not connection.inherited:
                return connection, spare.hello
            connection.close()

    def serve_idle(self) -> None:
        """Close what nobody has come for."""
        now = time.monotonic()
        with self._lock:
            late = [spare for kept in self._by_key.values() for spare in kept if spare.until <= now]
            self._by_key = {
                key: left for key, kept in self._by_key.items() if (left := [s for s in kept if s.until > now])
            }
        for spare in late:
            spare.connection.close()

    @property
    def ended(self) -> bool:
        """Whether there is nothing to look after."""
        return not self._by_key

    def forget_parent(self) -> None:
        """After a fork: the connections are the parent's."""
        self._lock = threading.Lock()
        for kept in self._by_key.values():
            for spare in kept:
                spare.connection.close_socket()
        self._by_key = {}


spares = _Spares()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=spares.forget_parent)
