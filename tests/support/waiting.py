"""Waiting for something to become true, with a limit: no test sleeps and hopes."""

import asyncio
import time
from collections.abc import Callable

__all__ = ["LIMIT_S", "eventually", "until"]

LIMIT_S = 15.0
"""Far longer than anything here takes; a machine may be busy."""

_PAUSE_S = 0.005


def eventually(holds: Callable[[], object], *, limit_s: float = LIMIT_S) -> None:
    """Wait, blocking, until something is true; fail when it does not become so."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(_PAUSE_S)


async def until(holds: Callable[[], object], *, limit_s: float = LIMIT_S) -> None:
    """Wait, awaiting, until something is true; fail when it does not become so."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it did not become true"
        await asyncio.sleep(_PAUSE_S)  # what is waited for happens in threads and other processes, too
