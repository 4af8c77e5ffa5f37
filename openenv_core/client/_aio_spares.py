"""Connections that awaiting clients have closed, kept for a moment for the next client in the same event loop.

The twin of :mod:`openenv_core.client._spares`, without a lock and without a thread: everything here happens in the
loop that the connections belong to.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Hashable
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidState
from websockets.protocol import State

from openenv_core.client._spares import KEPT_PER_SERVER, KEPT_S
from openenv_core.wire.frames import HelloData

__all__ = ["keep", "part", "take"]


def part(connection: ClientConnection, last_words: list[bytes]) -> None:
    """Say the last words and goodbye, without awaiting anything: the loop may be about to end."""
    with contextlib.suppress(InvalidState):
        for message in last_words:
            connection.protocol.send_text(message)
        connection.protocol.send_close(1000)
        connection.transport.write(b"".join(connection.protocol.data_to_send()))
    connection.transport.close()


class _Spare(NamedTuple):
    connection: ClientConnection
    hello: HelloData
    expiry: asyncio.TimerHandle


class _LoopSpares:
    """The idle connections of one event loop, by server and settings."""

    def __init__(self) -> None:
        self.by_key: dict[Hashable, list[_Spare]] = {}
        self._shutdown: AsyncGenerator[None] | None = None

    async def watch_for_shutdown(self) -> None:
        """Have the connections closed with the loop: it closes its asynchronous generators before it ends."""
        if self._shutdown is None:
            self._shutdown = self._until_shutdown()
            await anext(self._shutdown)

    def expire(self, key: Hashable, connection: ClientConnection) -> None:
        """Nobody has come for it."""
        kept = self.by_key.get(key, [])
        kept[:] = [spare for spare in kept if spare.connection is not connection]
        if not kept:
            self.by_key.pop(key, None)
        part(connection, [])

    async def _until_shutdown(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for spare in [spare for kept in self.by_key.values() for spare in kept]:
                spare.expiry.cancel()
                part(spare.connection, [])
            self.by_key.clear()


_by_loop: dict[asyncio.AbstractEventLoop, _LoopSpares] = {}


async def keep(key: Hashable, connection: ClientConnection, hello: HelloData) -> bool:
    """Keep a connection that carries no session. ``False``, and nothing done, where there are enough."""
    loop = asyncio.get_running_loop()
    for ended in [other for other in _by_loop if other.is_closed()]:
        del _by_loop[ended]
    spares = _by_loop.setdefault(loop, _LoopSpares())
    await spares.watch_for_shutdown()
    kept = spares.by_key.setdefault(key, [])
    if len(kept) >= KEPT_PER_SERVER:
        return False
    kept.append(_Spare(connection, hello, loop.call_later(KEPT_S, spares.expire, key, connection)))
    return True


def take(key: Hashable) -> tuple[ClientConnection, HelloData] | None:
    """A live connection of the running loop; ``None`` where there is none."""
    spares = _by_loop.get(asyncio.get_running_loop())
    kept = spares.by_key.get(key) if spares is not None else None
    while kept:
        spare = kept.pop()
        spare.expiry.cancel()
        if spare.connection.state is State.OPEN:
            return spare.connection, spare.hello
    return None
