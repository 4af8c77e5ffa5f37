"""Sessions of games, opened and stepped by turns: the loops that every process of ``benchmarks.games`` runs.

Only the standard library is imported: the same file serves our clients and the libraries that play without a server.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from benchmarks.worker import serve

__all__ = ["Seat", "memory", "serve_seats"]

_WARM_UP = 3


class Seat(Protocol):
    """One session with a game."""

    def prepare(self) -> None:
        """Choose the next move, after a new game where the last one is over. Not timed."""

    def move(self) -> None:
        """Make it and read what comes of it. Timed."""

    def close(self) -> None:
        """Leave."""


def memory() -> int:
    """Proportional set size of this process in bytes."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel tells no Pss")


def serve_seats(makers: Mapping[str, Callable[..., Seat]], **tasks: Callable[..., Any]) -> None:
    """Do what is asked on standard input until it ends.

    Args:
        makers: by game: opens one session, resets it with the seed, and returns it; further arguments are the asker's.
        **tasks: what else can be asked for.
    """
    seats: list[Seat] = []

    def open_seats(game: str, sessions: int, **arguments: Any) -> list[float]:
        """Open so many; seconds of each, with its reset."""
        times = []
        for seed in range(sessions):
            start = time.perf_counter()
            seat = makers[game](seed, **arguments)
            times.append(time.perf_counter() - start)
            seats.append(seat)
        return times

    def step(seconds: float) -> float:
        """Median seconds of one step, the sessions taking turns."""
        times: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < _WARM_UP * len(seats) + 1:
            for seat in seats:
                seat.prepare()
                start = time.perf_counter()
                seat.move()
                times.append(time.perf_counter() - start)
        return statistics.median(times[_WARM_UP * len(seats) :])

    def close() -> None:
        """Close all of them."""
        while seats:
            seats.pop().close()

    serve({"open": open_seats, "step": step, "close": close, "memory": memory, **tasks})
