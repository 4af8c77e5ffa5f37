"""People who follow one session: each has a short queue, and a slow one misses frames."""

import asyncio
from collections import deque
from typing import Final, NamedTuple

from openenv_core.recording import Note
from openenv_core.server.silence import within

__all__ = ["Follower", "Seen"]

_WAITING: Final = 32
"""Frames that wait for one watcher; then the oldest goes."""


class Seen(NamedTuple):
    """A note, with where its episode stood after it."""

    note: Note
    steps: int
    total_reward: float


class Follower:
    """One watcher of one session.

    Attributes:
        dropped: frames that it missed since the last that it took.
        ended: the word with which the session ended.
    """

    __slots__ = ("_frames", "_wake", "dropped", "ended")

    def __init__(self) -> None:
        self._frames: deque[Seen] = deque()
        self._wake = asyncio.Event()
        self.dropped = 0
        self.ended: str | None = None

    def put(self, seen: Seen) -> None:
        """A frame; whoever calls never waits."""
        if len(self._frames) >= _WAITING:
            self._frames.popleft()
            self.dropped += 1
        self._frames.append(seen)
        self._wake.set()

    def end(self, reason: str) -> None:
        """The session is over."""
        self.ended = reason
        self._wake.set()

    async def next(self, limit_s: float) -> tuple[int, list[Seen]]:
        """What has come: how many frames were missed before it, and the frames; nothing after ``limit_s`` seconds."""
        if not self._frames and self.ended is None:
            await within(limit_s, self._wake.wait)
        self._wake.clear()
        missed, self.dropped = self.dropped, 0
        frames = list(self._frames)
        self._frames.clear()
        return missed, frames
