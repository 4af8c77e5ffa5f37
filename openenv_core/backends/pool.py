"""Which worker process an environment goes to: they are started ahead of need, shared, replaced when they die."""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from typing import Any

from openenv_core.backends.base import EnvironmentCrashedError
from openenv_core.backends.parcels import Setup
from openenv_core.backends.worker_process import Worker
from openenv_core.settings import ServerSettings

__all__ = ["WorkerPool"]

_log = logging.getLogger(__name__)

_MOST_WORKERS = 16
"""Where no setting says how many environments share a worker: as few as so many workers allow."""

_LET_GO_LIMIT_S = 2.0
"""A worker that does not answer for so long is held up as a whole, by code that keeps the interpreter's lock."""


class WorkerPool:
    """The worker processes of one server.

    Args:
        settings: how many, and their limits.
        setup: what each is told first.
        share: environments may share a process at all.
    """

    def __init__(self, settings: ServerSettings, setup: Setup, *, share: bool) -> None:
        self._setup = setup
        each = settings.sessions_per_worker or math.ceil(settings.max_sessions / _MOST_WORKERS)
        self._each = each if share else 1
        self._most = math.ceil(settings.max_sessions / self._each)
        self._spare = settings.spare_workers
        self._workers: set[Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def start(self) -> None:
        """Start the spare workers and wait until they are ready.

        Raises:
            Exception: whatever importing the factory raised there.
        """
        self._replenish()
        await asyncio.gather(*(asyncio.shield(worker.ready) for worker in self._workers))

    async def take(self, number: int, crashed: Callable[[EnvironmentCrashedError], None]) -> Worker:
        """A worker, ready, with a place for environment ``number``.

        Args:
            crashed: called when the worker dies while it has that place.

        Raises:
            EnvironmentCrashedError: the worker died.
            Exception: whatever importing the factory raised there.
        """
        worker = self._choose()
        worker.tenants[number] = crashed
        self._replenish()
        try:
            await asyncio.shield(worker.ready)
        except BaseException:
            self.give_back(worker, number)
            raise
        return worker

    def give_back(self, worker: Worker, number: int) -> None:
        """The environment is closed: its place is free."""
        worker.tenants.pop(number, None)
        if worker.tenants or worker.ended.done():
            return
        if worker.condemned:
            worker.kill("its worker process was ended")
        elif len(self._fit()) > self._most + self._spare:
            worker.retire()

    def give_up(self, worker: Worker, number: int) -> None:
        """A call of this environment does not return: the worker takes nothing new, and ends. At once, if it has no
        other environments or they are held up, too; otherwise when the last of them is closed."""
        worker.condemned = True
        worker.tenants.pop(number, None)
        self._spawn(self._let_go(worker, number))
        self._replenish()

    async def stop(self) -> None:
        """End all workers, in order where they follow."""
        self._stopping = True
        workers = list(self._workers)
        for worker in workers:
            if worker.ready.done():
                worker.retire()
            else:
                worker.kill("its worker process was ended")  # it holds nothing yet, and hears nothing while it imports
        await asyncio.gather(*(worker.wait_ended() for worker in workers))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _fit(self) -> list[Worker]:
        return [worker for worker in self._workers if not worker.condemned]

    def _choose(self) -> Worker:
        """Up to as many workers as are needed: one for each environment. From then on the one with the fewest."""
        fit = self._fit()
        at_work = [worker for worker in fit if worker.tenants]
        with_room = [worker for worker in at_work if len(worker.tenants) < self._each]
        if len(at_work) >= self._most and with_room:
            return min(with_room, key=lambda worker: len(worker.tenants))
        idle = [worker for worker in fit if not worker.tenants]
        return min(idle, key=lambda worker: not worker.ready.done()) if idle else self._hire()

    def _replenish(self) -> None:
        fit = self._fit()
        idle = sum(not worker.tenants for worker in fit)
        missing = min(self._spare - idle, self._most + self._spare - len(fit))
        for _ in range(0 if self._stopping else missing):
            self._hire()

    def _hire(self) -> Worker:
        worker = Worker(self._ended)
        self._workers.add(worker)
        self._spawn(self._get_ready(worker))
        return worker

    async def _get_ready(self, worker: Worker) -> None:
        try:
            await worker.start(self._setup)
            await asyncio.shield(worker.ready)
        except Exception as error:  # noqa: BLE001 - whoever waits for the worker is told; nobody may
            if not worker.condemned:
                _log.warning("a worker process did not get ready: %s", error)
            self._workers.discard(worker)
            worker.fail(error)

    def _ended(self, worker: Worker, error: EnvironmentCrashedError) -> None:
        if worker in self._workers:
            self._workers.discard(worker)
            if not worker.condemned:
                _log.warning("worker %d is gone: %s", worker.pid, error)
            self._replenish()

    async def _let_go(self, worker: Worker, number: int) -> None:
        try:
            async with asyncio.timeout(_LET_GO_LIMIT_S):
                await worker.let_go(number)
        except TimeoutError:
            worker.kill("its worker process was held up by another environment, past that one's deadline")
        except EnvironmentCrashedError:
            pass
        else:
            if not worker.tenants:
                worker.kill("its worker process was ended")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
