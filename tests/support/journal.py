"""Environments that keep a journal of what is done to them, in a file, so that it works across threads and processes.

A *gate* is a named file that a call waits for: a test decides when a slow construction or step goes on, and no test
depends on how long anything takes.
"""

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from openenv_core.environment import Environment
from openenv_core.types import Action, Observation, State

__all__ = ["Act", "AwaitingWorld", "BlockingWorld", "Entry", "Factory", "Journal", "Seen", "WorldState"]

_GATE_LIMIT_S = 30.0
_PAUSE_S = 0.003


class Entry(NamedTuple):
    """One line: what happened (``init`` begins, ``built`` ends a construction), to which object, and where."""

    event: str
    world: str
    pid: int
    thread: int


@dataclass(frozen=True)
class Journal:
    """The journal and the gates of one test, in a directory of its own."""

    folder: Path

    def note(self, event: str, world: str) -> None:
        """Write a line: one append, which the system keeps whole."""
        line = f"{event} {world} {os.getpid()} {threading.get_ident()}\n".encode()
        descriptor = os.open(self.folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def entries(self) -> list[Entry]:
        """All lines so far."""
        path = self.folder / "journal"
        if not path.exists():
            return []
        rows = [line.split() for line in path.read_text().splitlines()]
        return [Entry(event, world, int(pid), int(thread)) for event, world, pid, thread in rows]

    def events(self, world: str | None = None) -> list[str]:
        """What happened, to one object or to all."""
        return [entry.event for entry in self.entries() if world in (None, entry.world)]

    def count(self, event: str) -> int:
        """How often something happened."""
        return Counter(self.events())[event]

    def most(self, begins: str, *ends: str) -> int:
        """The largest number of objects that were between two events at one moment."""
        here = most = 0
        for event in self.events():
            here += (event == begins) - (event in ends)
            most = max(most, here)
        return most

    @property
    def most_alive(self) -> int:
        """The largest number of objects that were built, or being built, and not closed at one moment."""
        return self.most("init", "closed", "failed")

    @property
    def close_waits(self) -> bool:
        """Whether the worlds' ``close`` waits for the gate ``close``."""
        return (self.folder / "close-waits").exists()

    def make_close_wait(self) -> None:
        """From now on the worlds' ``close`` waits for the gate ``close``."""
        (self.folder / "close-waits").touch()

    def open_gate(self, name: str) -> None:
        """Let everything that waits for this gate go on, now and later."""
        (self.folder / f"gate-{name}").touch()

    def open_all(self) -> None:
        """Let everything go on."""
        (self.folder / "gates").touch()

    def is_open(self, name: str) -> bool:
        """Whether the gate has been opened."""
        return (self.folder / f"gate-{name}").exists() or (self.folder / "gates").exists()

    def tries(self, name: str) -> Iterator[None]:
        """Yields for as long as the gate is shut; fails when that takes too long."""
        deadline = time.monotonic() + _GATE_LIMIT_S
        while not self.is_open(name):
            assert time.monotonic() < deadline, f"gate {name} was never opened"
            yield

    def wait(self, name: str) -> None:
        """Block until the gate is open."""
        for _ in self.tries(name):
            time.sleep(_PAUSE_S)


class Act(Action):
    """What to do.

    Attributes:
        gate: wait for this gate first.
        fails: raise an error with this text.
        reward: the reward to give.
        ends: end the episode.
    """

    gate: str | None = None
    fails: str | None = None
    reward: float | None = None
    ends: bool = False


class Seen(Observation):
    """Which object answered, and where it lives."""

    world: str = ""
    pid: int = 0
    thread: int = 0
    steps: int = 0
    seed: int | None = None


class WorldState(State):
    """Which object answered, and where it lives."""

    world: str = ""
    thread: int = 0


class _World(Environment[Act, Seen, WorldState]):
    concurrency_safe = True

    def __init__(self, journal: Journal, name: str) -> None:
        self.journal = journal
        self.name = name
        self.steps = 0

    def _begin(self, seed: int | None) -> Seen:
        self.journal.note("reset", self.name)
        self.steps = 0
        return self._seen(None, seed=seed)

    def _step(self, action: Act) -> Seen:
        self.journal.note("step", self.name)
        if action.fails is not None:
            raise RuntimeError(action.fails)
        self.steps += 1
        return self._seen(action.reward, done=action.ends)

    def _seen(self, reward: float | None, *, done: bool = False, seed: int | None = None) -> Seen:
        return Seen(
            world=self.name,
            pid=os.getpid(),
            thread=threading.get_ident(),
            steps=self.steps,
            seed=seed,
            reward=reward,
            done=done,
        )

    @property
    def state(self) -> WorldState:
        self.journal.note("state", self.name)
        return WorldState(world=self.name, thread=threading.get_ident(), step_count=self.steps)

    def get_metadata(self) -> dict[str, Any]:
        self.journal.note("metadata", self.name)
        return {"name": "journalled", "description": "keeps a journal", "version": "7"}

    def list_splits(self) -> list[str]:
        self.journal.note("splits", self.name)
        return ["train", "test"]


class BlockingWorld(_World):
    """Plain methods, which block."""

    execution = "thread"

    def reset(self, *, seed: int | None = None, episode_id: str | None = None, gate: str | None = None) -> Seen:
        if gate is not None:
            self.journal.note("waits", self.name)
            self.journal.wait(gate)
        return self._begin(seed)

    def step(self, action: Act) -> Seen:
        if action.gate is not None:
            self.journal.note("waits", self.name)
            self.journal.wait(action.gate)
        return self._step(action)

    def close(self) -> None:
        self.journal.note("closing", self.name)
        if self.journal.close_waits:
            self.journal.wait("close")
        self.journal.note("closed", self.name)


class AwaitingWorld(_World):
    """``async`` methods, which wait without blocking."""

    execution = "inline"

    async def reset(self, *, seed: int | None = None, episode_id: str | None = None, gate: str | None = None) -> Seen:
        if gate is not None:
            await self._wait(gate)
        return self._begin(seed)

    async def step(self, action: Act) -> Seen:
        if action.gate is not None:
            await self._wait(action.gate)
        return self._step(action)

    async def close(self) -> None:
        self.journal.note("closing", self.name)
        if self.journal.close_waits:
            for _ in self.journal.tries("close"):
                await asyncio.sleep(_PAUSE_S)
        self.journal.note("closed", self.name)

    async def _wait(self, gate: str) -> None:
        self.journal.note("waits", self.name)
        for _ in self.journal.tries(gate):
            await asyncio.sleep(_PAUSE_S)


@dataclass(frozen=True)
class Factory:
    """Makes worlds, each with a name of its own. It can be sent to another process.

    Attributes:
        gate: every construction waits for it.
        fails: constructions fail while this gate is shut.
    """

    journal: Journal
    world: type[_World] = BlockingWorld
    gate: str | None = None
    fails: str | None = None

    def __call__(self) -> Any:
        """A world; an awaitable of one where the world's methods are ``async`` and a gate is to be waited for."""
        name = os.urandom(4).hex()
        self.journal.note("init", name)
        if self.gate is not None and issubclass(self.world, AwaitingWorld):
            return self._awaiting(name)
        if self.gate is not None:
            self.journal.wait(self.gate)
        return self._made(name)

    async def _awaiting(self, name: str) -> _World:
        try:
            for _ in self.journal.tries(self.gate or ""):
                await asyncio.sleep(_PAUSE_S)
        except asyncio.CancelledError:
            self.journal.note("failed", name)
            raise
        return self._made(name)

    def _made(self, name: str) -> _World:
        if self.fails is not None and not self.journal.is_open(self.fails):
            self.journal.note("failed", name)
            raise RuntimeError("the world could not be made")
        self.journal.note("built", name)
        return self.world(self.journal, name)
