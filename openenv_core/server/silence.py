"""Waiting for a peer that may never say anything."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["within"]

ResultT = TypeVar("ResultT")


async def within(limit_s: float, wait: Callable[[], Awaitable[ResultT]]) -> ResultT | None:
    """What ``wait`` gives, or ``None`` where it gives nothing within ``limit_s`` seconds."""
    try:
        async with asyncio.timeout(limit_s):
            return await wait()
    except TimeoutError:
        return None
