"""One worker thread per session, so that calls may block and libraries bound to a thread work."""

import asyncio
import contextlib
import itertools
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from openenv_core.backends.base import Backend, EnvironmentCrashedError, EnvironmentHandle
from openenv_core.backends.inline import InlineHandle
from openenv_core.environment import EnvironmentTraits

__all__ = ["ThreadBackend", "ThreadHandle"]

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)

Job = Callable[[asyncio.Runner], Any]


class _Worker:
    """A daemon thread that runs jobs in order: a thread that hangs must not keep the process from ending.

    ``async`` methods run on a loop of the thread's own.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Job, asyncio.Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"environment-{next(_numbers)}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._jobs.put((job, future))
        return future

    def stop(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while (item := self._jobs.get()) is not None:
                job, future = item
                value: Any = None
                failure: BaseException | None = None
                try:
                    value = job(runner)
                except BaseException as error:  # noqa: BLE001 - it belongs to the caller, who awaits the future
                    failure = error
                # A loop that has been closed no longer waits for anything.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(_settle, future, value, failure)
                # A finished job must not keep its observation alive until the next one comes.
                del item, job, future, value, failure


def _settle(future: "asyncio.Future[Any]", value: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(value)
    elif isinstance(failure, Exception) and not isinstance(failure, StopIteration):
        future.set_exception(failure)
    else:
        # SystemExit in an environment must not end the server, and a future cannot carry StopIteration.
        future.set_exception(RuntimeError(f"{type(failure).__name__}: {failure}"))


class ThreadHandle(EnvironmentHandle):
    """An environment in a thread of its own."""

    traits: EnvironmentTraits

    def __init__(self) -> None:
        self._worker = _Worker()
        self._inner: InlineHandle | None = None
        self._finished = False
        self._running: asyncio.Future[Any] | None = None

    async def build(self, factory: Callable[[], Any]) -> None:
        """Run the factory in the thread."""

        def job(runner: asyncio.Runner) -> InlineHandle:
            environment = factory()
            if asyncio.iscoroutine(environment):
                environment = runner.run(environment)
            return InlineHandle(environment)

        built = self._worker.submit(job)
        try:
            inner: InlineHandle = await asyncio.shield(built)
        except asyncio.CancelledError:
            # The caller gave up; what is still being built is closed, in its thread, when it is there.
            built.add_done_callback(self._discard)
            raise
        except BaseException:
            self._worker.stop()
            raise
        self._inner = inner
        self.traits = inner.traits

    def _discard(self, built: "asyncio.Future[InlineHandle]") -> None:
        if not built.cancelled() and built.exception() is None:
            inner = built.result()
            self._worker.submit(lambda runner: runner.run(inner.close()))
        self._worker.stop()

    async def call(self, verb: str, /, *args: Any, **kwargs: Any) -> Any:
        inner = self._inner
        if inner is None or self._finished:
            raise EnvironmentCrashedError("the environment's thread has been given up")
        method = inner.immediate(verb)
        if method is not None:
            running = self._worker.submit(lambda runner: method(*args, **kwargs))
        else:
            running = self._worker.submit(lambda runner: runner.run(inner.call(verb, *args, **kwargs)))
        self._running = running
        return await running

    async def close(self) -> None:
        if self._finished or self._inner is None:
            return
        self._finished = True
        inner = self._inner
        closing = self._worker.submit(lambda runner: runner.run(inner.close()))
        self._worker.stop()
        await closing

    def abandon(self) -> None:
        """A thread cannot be killed: it ends by itself when its call returns, after ``close`` in that same thread."""
        if self._finished or self._inner is None:
            return
        self._finished = True
        inner = self._inner
        _log.warning("%s does not return; its thread is left behind until it does", self.traits.name)
        self._worker.submit(lambda runner: runner.run(inner.close()))
        self._worker.stop()
        if self._running is not None and not self._running.done():
            self._running.set_exception(EnvironmentCrashedError("the call did not return and has been given up"))


class ThreadBackend(Backend):
    """Environments live in threads, one each."""

    name = "thread"

    async def open(self, factory: Callable[[], Any]) -> EnvironmentHandle:
        handle = ThreadHandle()
        await handle.build(factory)
        return handle
