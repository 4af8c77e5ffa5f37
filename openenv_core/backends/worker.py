"""The program of a worker process: ``python -m openenv_core.backends.worker <descriptor>``.

It runs environments with the inline or the thread backend, and does what the server at the other end of the
descriptor asks. It ends when that end is gone.
"""

import asyncio
import contextlib
import ctypes
import inspect
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from openenv_core.backends.base import Backend, EnvironmentHandle
from openenv_core.backends.inline import InlineBackend
from openenv_core.backends.link import Link, connect
from openenv_core.backends.parcels import EXIT_OUT_OF_MEMORY, READY, Setup, pack_answer, pack_failure, packer
from openenv_core.backends.thread import ThreadBackend
from openenv_core.environment import class_of_factory, traits_of

__all__ = ["main"]

_CLOSE_LIMIT_S = 5.0
"""Environments that are left when the server goes may take so long to close."""

_LAST_CLOSE_S = 1.0
"""One that was given up may take so long; less than the server waits to hear that it was."""

_PR_SET_PDEATHSIG = 1


class _Worker:
    """The environments of this process."""

    def __init__(self) -> None:
        self._link: Link | None = None
        self._pack = packer(by_value=False)
        self._factories: dict[bytes, Callable[[], Any]] = {}
        self._handles: dict[int, EnvironmentHandle] = {}
        self._running: dict[int, asyncio.Task[Any] | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, sock: socket.socket) -> None:
        """Answer until the server is gone, then close what is left."""
        self._link = await connect(sock, self._receive)
        await self._link.ended
        closing = [handle.close() for handle in self._handles.values()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_LIMIT_S):
                await asyncio.gather(*closing, return_exceptions=True)

    def _receive(self, number: int, message: bytes) -> None:
        self._spawn(self._answer(number, message))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer(self, number: int, message: bytes) -> None:
        try:
            answer = pack_answer(await self._do(number, message), self._pack)
        except MemoryError:
            os._exit(EXIT_OUT_OF_MEMORY)
        except BaseException as error:  # noqa: BLE001 - it belongs to the server, which asked
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                return  # given up: the server does not wait for an answer
            answer = pack_failure(error, self._pack)
        assert self._link is not None
        self._link.send(number, answer)

    def _set_up(self, setup: Setup) -> None:
        sys.path[:] = setup.path
        _limit_resources(setup)
        self._pack = packer(by_value=setup.by_value)
        if setup.factory:
            self._factory(setup.factory)

    async def _do(self, request: int, message: bytes) -> Any:
        if request == READY:
            self._set_up(pickle.loads(message))
            return None
        verb, number, *details = pickle.loads(message)
        if verb == "open":
            return await self._run(number, self._open(number, self._factory(details[0])))
        if verb == "call":
            name, positional, named = details
            return await self._run(number, self._handles[number].call(name, *positional, **named))
        handle = self._handles.pop(number, None)
        if verb == "close" and handle is not None:
            await handle.close()
        elif verb == "let go":
            await self._let_go(number, handle)
        return None

    async def _run(self, number: int, work: Coroutine[Any, Any, Any]) -> Any:
        self._running[number] = asyncio.current_task()
        try:
            return await work
        finally:
            del self._running[number]

    async def _let_go(self, number: int, handle: EnvironmentHandle | None) -> None:
        """Give up what runs, and close the environment if it can be. What is still being built is closed by its
        backend when it is there."""
        running = self._running.get(number)
        if running is not None:
            running.cancel()
        if handle is not None:
            handle.abandon()
            await asyncio.wait({self._spawn(handle.close())}, timeout=_LAST_CLOSE_S)

    def _factory(self, packed: bytes) -> Callable[[], Any]:
        if packed not in self._factories:
            self._factories[packed] = pickle.loads(packed)
        return self._factories[packed]

    async def _open(self, number: int, factory: Callable[[], Any]) -> type[Any]:
        handle = await _backend(factory).open(factory)
        self._handles[number] = handle
        return handle.traits.cls


def _backend(factory: Callable[[], Any]) -> Backend:
    """Methods that never block, or wait by awaiting, share the loop; others get a thread for each environment."""
    cls = class_of_factory(factory)
    if cls is None:
        return ThreadBackend()
    traits = traits_of(cls)
    awaits = all(inspect.iscoroutinefunction(getattr(cls, verb)) for verb in (traits.reset, traits.step))
    return InlineBackend() if awaits or traits.execution == "inline" else ThreadBackend()


def _limit_resources(setup: Setup) -> None:
    if not setup.memory_bytes and not setup.cpu_s:
        return
    import resource  # not on every system

    if setup.memory_bytes:
        # Private writable memory; the address space would count what allocators and browsers only reserve.
        resource.setrlimit(resource.RLIMIT_DATA, (setup.memory_bytes, setup.memory_bytes))
    if setup.cpu_s:
        # At the soft limit comes a signal that tells what it is; at the hard one comes SIGKILL.
        resource.setrlimit(resource.RLIMIT_CPU, (setup.cpu_s, setup.cpu_s + 1))


def _end_with_the_server(parent: int) -> None:
    """Die with the server even when no Python code can run here any more; the descriptor tells it in other cases."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def main() -> None:
    """Run the worker."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    _end_with_the_server(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C at the terminal is for the server, which ends its workers
    asyncio.run(_Worker().serve(socket.socket(fileno=descriptor)))
    # What an environment left running must not keep the process: its threads, or what it wants done at exit.
    last_resort = threading.Timer(_CLOSE_LIMIT_S, os._exit, (1,))
    last_resort.daemon = True
    last_resort.start()
    sys.stdout.flush()
    sys.exit(0)


if __name__ == "__main__":
    main()
