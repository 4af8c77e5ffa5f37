"""Environments in worker processes, so that one that crashes or hangs harms no other and not the server."""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Callable
from typing import Any

from openenv_core.backends.base import Backend, EnvironmentCrashedError, EnvironmentHandle
from openenv_core.backends.parcels import Setup, pack_factory, packer
from openenv_core.backends.pool import WorkerPool
from openenv_core.backends.worker_process import Worker
from openenv_core.environment import EnvironmentTraits, class_of_factory, traits_of
from openenv_core.errors import ConfigurationError
from openenv_core.settings import ServerSettings

__all__ = ["ProcessBackend", "ProcessHandle"]


class ProcessHandle(EnvironmentHandle):
    """An environment in a worker process."""

    traits: EnvironmentTraits

    def __init__(self, number: int, pool: WorkerPool, pack: Callable[[Any], bytes]) -> None:
        self._number = number
        self._pool = pool
        self._pack = pack
        self._worker: Worker | None = None
        self._closing = False
        self._gone: EnvironmentCrashedError | None = None
        self._answer: asyncio.Future[Any] | None = None
        self._tell: Callable[[EnvironmentCrashedError], None] | None = None

    async def build(self, factory: bytes) -> None:
        """Build the environment. Cancelled at its deadline, it is taken for hung, and its worker with it."""
        worker = self._worker = await self._pool.take(self._number, self._crashed)
        try:
            cls = await worker.ask(self._pack(("open", self._number, factory)))
            self.traits = traits_of(cls)
        except asyncio.CancelledError:
            self._pool.give_up(worker, self._number)
            raise
        except BaseException:
            self._pool.give_back(worker, self._number)
            raise

    def when_crashed(self, tell: Callable[[EnvironmentCrashedError], None]) -> None:
        self._tell = tell
        if self._gone is not None:
            tell(self._gone)

    def _crashed(self, error: EnvironmentCrashedError) -> None:
        self._gone = error
        if self._tell is not None:
            self._tell(error)

    async def call(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        if self._worker is None or self._gone is not None:
            raise self._gone or EnvironmentCrashedError("the environment has been given up")
        self._answer = self._worker.ask(self._pack(("call", self._number, verb, args, kwargs)))
        try:
            return await self._answer
        finally:
            self._answer = None

    async def close(self) -> None:
        worker = self._worker
        if worker is None or self._closing or self._gone is not None:
            return
        self._closing = True
        with contextlib.suppress(EnvironmentCrashedError):
            await worker.ask(self._pack(("close", self._number)))
        self._worker = None
        self._pool.give_back(worker, self._number)

    def abandon(self) -> None:
        """Kill the worker, or have it let go of the call where other environments in it can go on."""
        worker, self._worker = self._worker, None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(EnvironmentCrashedError("its call was given up"))
        if worker is not None:
            self._pool.give_up(worker, self._number)


class ProcessBackend(Backend):
    """Environments live in worker processes: several in one, or each in its own where their class wants that.

    Args:
        settings: how many sessions share a worker, how many workers are kept ready, what a worker may use.
        factory: imported by the workers as they start, so that no session waits for that; without it, the first
            session's factory.

    Raises:
        ConfigurationError: the factory cannot be sent to another process, or this system is Windows.
    """

    name = "process"
    isolates = True

    def __init__(self, settings: ServerSettings, factory: Callable[[], Any] | None = None) -> None:
        if sys.platform == "win32":
            raise ConfigurationError("worker processes need a POSIX system; OPENENV_EXECUTION=thread runs anywhere")
        self._settings = settings
        self._numbers = itertools.count(1)
        self._pool: WorkerPool | None = None
        self._pack = packer(by_value=False)
        if factory is not None:
            self._prepare(factory)

    def _prepare(self, factory: Callable[[], Any]) -> WorkerPool:
        packed, by_value = pack_factory(factory)
        settings, cls = self._settings, class_of_factory(factory)
        setup = Setup(list(sys.path), packed, by_value, settings.worker_memory_mb * 2**20, settings.worker_cpu_s)
        # A class that nobody knows before it is built may be one that wants a process for itself.
        share = cls is not None and traits_of(cls).concurrency_safe
        self._pack = packer(by_value=by_value)
        self._pool = WorkerPool(settings, setup, share=share)
        return self._pool

    async def start(self) -> None:
        if self._pool is not None:
            await self._pool.start()

    async def open(self, factory: Callable[[], Any]) -> ProcessHandle:
        pool = self._pool or self._prepare(factory)
        packed = pack_factory(factory)[0]
        try:
            return await self._build(pool, packed)
        except EnvironmentCrashedError:
            # The fault may be another environment's, which took the worker down; if it is this one's, it shows again.
            return await self._build(pool, packed)

    async def _build(self, pool: WorkerPool, packed: bytes) -> ProcessHandle:
        handle = ProcessHandle(next(self._numbers), pool, self._pack)
        await handle.build(packed)
        return handle

    async def stop(self) -> None:
        if self._pool is not None:
            await self._pool.stop()
