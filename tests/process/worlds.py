"""Worlds that count what is done to them and write it down, one class for each place where a world can run.

The journal is a file that outlives any process; its path is in ``OPENENV_TEST_JOURNAL``. Each line is a JSON object.
"""

import asyncio
import ctypes
import itertools
import json
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar, Literal
from uuid import uuid4

from openenv_core.environment import Environment, EnvironmentSpec
from openenv_core.types import Action, Observation, State

__all__ = ["CountAction", "CountObservation", "CountState", "async_spec", "inline_spec", "process_spec", "thread_spec"]

Execution = Literal["inline", "thread", "process"]
Trouble = Literal["", "exit", "crash", "hold", "spin", "eat", "raise", "print", "sys_exit", "fork"]


class CountAction(Action):
    """Add ``add``; take ``sleep_s`` seconds over it; make ``trouble``."""

    add: int = 1
    sleep_s: float = 0.0
    trouble: Trouble = ""
    fill: str = ""


class CountObservation(Observation):
    """``count``: steps executed in this episode; ``value``: depends on every action and on their order."""

    count: int = 0
    value: int = 0
    start: int = 0
    fill: str = ""


class CountState(State):
    """What the world has done: ``world`` is its name, ``resets`` the number of episodes."""

    world: str = ""
    resets: int = 0
    count: int = 0
    value: int = 0
    pid: int = 0


if getattr(sys.modules["__main__"].__spec__, "name", "") == "openenv_core.backends.worker":
    # A module that takes its time to import, in worker processes.
    while "OPENENV_TEST_IMPORT_GATE" in os.environ and not Path(os.environ["OPENENV_TEST_IMPORT_GATE"]).exists():
        time.sleep(0.01)


def _note(**entry: Any) -> None:
    path = os.environ.get("OPENENV_TEST_JOURNAL")
    if path is None:
        return
    entry.update(pid=os.getpid(), thread=threading.get_native_id())
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(descriptor)


def _fail_at_first() -> None:
    """Fail in as many constructions as the test wants; the journal counts them."""
    failures = int(os.environ.get("OPENENV_TEST_BUILD_FAILS", "0"))
    if failures and Path(os.environ["OPENENV_TEST_JOURNAL"]).read_text().count('"opening"') <= failures:
        raise RuntimeError("not yet")


class _World(Environment[CountAction, CountObservation, CountState]):
    """Counts. ``reset(tag=…)`` puts a name on what the journal tells of the episode."""

    concurrency_safe = True

    def __init__(self) -> None:
        self._name = uuid4().hex
        self._tag = ""
        self._resets = self._count = self._value = self._start = 0
        _note(event="opening", world=self._name)
        _fail_at_first()
        time.sleep(float(os.environ.get("OPENENV_TEST_BUILD_S", "0")))
        _note(event="open", world=self._name)

    def _reset(self, seed: int | None, tag: str) -> CountObservation:
        self._resets += 1
        self._tag = tag
        self._count = 0
        self._start = self._value = random.Random(seed).randrange(1000)
        _note(event="reset", world=self._name, tag=tag)
        return CountObservation(value=self._value, start=self._start)

    def _step(self, action: CountAction) -> CountObservation:
        self._count += 1
        self._value = (self._value * 31 + action.add) % 1_000_003
        _note(event="step", world=self._name, tag=self._tag, count=self._count, add=action.add)
        return CountObservation(
            count=self._count, value=self._value, start=self._start, reward=self._value / 7, fill=action.fill
        )

    @property
    def state(self) -> CountState:
        return CountState(world=self._name, resets=self._resets, count=self._count, value=self._value, pid=os.getpid())

    def _close(self) -> None:
        time.sleep(float(os.environ.get("OPENENV_TEST_CLOSE_S", "0")))
        _note(event="close", world=self._name)


class InlineWorld(_World):
    """On the server's own loop."""

    execution = "inline"

    def reset(self, *, seed: int | None = None, tag: str = "") -> CountObservation:
        return self._reset(seed, tag)

    def step(self, action: CountAction) -> CountObservation:
        return self._step(action)

    def close(self) -> None:
        self._close()


class AsyncWorld(_World):
    """On the server's own loop, with methods that wait."""

    execution: ClassVar[Execution] = "inline"

    async def reset(self, *, seed: int | None = None, tag: str = "") -> CountObservation:
        await asyncio.sleep(0)
        return self._reset(seed, tag)

    async def step(self, action: CountAction) -> CountObservation:
        if action.sleep_s:
            _note(event="sleep", world=self._name, tag=self._tag)
        await asyncio.sleep(action.sleep_s)
        return self._step(action)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self._close()


class ThreadWorld(_World):
    """In a thread, with methods that block."""

    execution: ClassVar[Execution] = "thread"

    def reset(self, *, seed: int | None = None, tag: str = "") -> CountObservation:
        return self._reset(seed, tag)

    def step(self, action: CountAction) -> CountObservation:
        if action.trouble:
            make_trouble(action.trouble)
        if action.sleep_s:
            _note(event="sleep", world=self._name, tag=self._tag)
        time.sleep(action.sleep_s)
        return self._step(action)

    def close(self) -> None:
        self._close()


class ProcessWorld(ThreadWorld):
    """In a worker process."""

    execution = "process"


class LonelyProcessWorld(ProcessWorld):
    """In a worker process that it must have for itself."""

    concurrency_safe = False


class AsyncProcessWorld(AsyncWorld):
    """On the loop of a worker process."""

    execution = "process"


def make_trouble(kind: Trouble) -> None:
    """Do to this process what a bad environment does."""
    if kind == "exit":
        os._exit(3)
    if kind == "crash":
        ctypes.string_at(0)
    if kind == "hold":
        re.match(r"(a+)+$", "a" * 60 + "b")  # holds the interpreter lock for longer than the universe has to live
    if kind == "spin":
        for _ in itertools.count():
            pass
    if kind == "eat":
        hoard = []
        while True:
            hoard.append(bytearray(1 << 24))
    if kind == "print":
        print("said by the environment", flush=True)  # noqa: T201 - that is the trouble
        print("complained by the environment", file=sys.stderr, flush=True)  # noqa: T201
    if kind == "fork":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads; that is the trouble
            child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        _note(event="fork", child=child)
    if kind in ("sys_exit", "raise"):
        raise SystemExit(5) if kind == "sys_exit" else RuntimeError("trouble was asked for")


def _spec(cls: type[_World]) -> EnvironmentSpec:
    return EnvironmentSpec(name=cls.__name__, factory=cls, client="", max_sessions=64)


lonely_process_spec = _spec(LonelyProcessWorld)
inline_spec = _spec(InlineWorld)
async_spec = _spec(AsyncWorld)
thread_spec = _spec(ThreadWorld)
process_spec = _spec(ProcessWorld)
async_process_spec = _spec(AsyncProcessWorld)
