"""One worker process, as the server sees it."""

import asyncio
import contextlib
import itertools
import logging
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from openenv_core.backends.base import EnvironmentCrashedError
from openenv_core.backends.link import Link, connect
from openenv_core.backends.parcels import EXIT_OUT_OF_MEMORY, READY, Setup, unpack_answer

__all__ = ["Worker"]

_log = logging.getLogger(__name__)

_END_LIMIT_S = 7.0
"""A worker that is asked to end may take so long; environments are closed meanwhile."""

_EXIT_LIMIT_S = 2.0
"""A worker that has closed its descriptor ends within so long, or is ended."""

_MAX_LINE = 4096


class Worker(asyncio.SubprocessProtocol):
    """One worker process.

    Attributes:
        ready: done when the process has imported what it needs, or has failed to.
        ended: done when the process is gone.
        tenants: what is to be called when the process dies, by the number of the environment concerned.
        condemned: it takes no further environments, and ends with its last.
        pid: the process.
    """

    def __init__(self, ended: Callable[["Worker", EnvironmentCrashedError], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._told_end = ended
        self._transport: asyncio.SubprocessTransport | None = None
        self._link: Link | None = None
        self._numbers = itertools.count(READY + 1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._line = b""
        self._why = ""
        self._memory_bytes = 0
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.tenants: dict[int, Callable[[EnvironmentCrashedError], None]] = {}
        self.condemned = False
        self.pid = 0

    async def start(self, setup: Setup) -> None:
        """Start the process; :attr:`ready` tells when it is of use."""
        self._memory_bytes = setup.memory_bytes
        self._asked[READY] = self.ready
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        command = (sys.executable, "-u", "-m", "openenv_core.backends.worker", str(theirs.fileno()), str(os.getpid()))
        try:
            self._transport, _ = await self._loop.subprocess_exec(
                lambda: self,
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # signals of the terminal are for the server; the group is ours to end
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.pid = self._transport.get_pid()
        self._link = await connect(ours, self._receive)
        self._link.ended.add_done_callback(self._link_ended)
        self._link.send(READY, pickle.dumps(setup))
        if self.condemned:
            self._kill_group()  # it was to be ended before it was there

    def ask(self, message: bytes) -> "asyncio.Future[Any]":
        """Send a request; its answer, or what it raised there, will be in the future.

        Raises:
            EnvironmentCrashedError: the process is gone. The future raises it, too, should the process go.
        """
        if self.ended.done() or self._link is None:
            raise self.obituary()
        number = next(self._numbers)
        answer = self._asked[number] = self._loop.create_future()
        answer.add_done_callback(lambda _: self._asked.pop(number, None))
        self._link.send(number, message)
        return answer

    def obituary(self) -> EnvironmentCrashedError:
        """How the process came to its end."""
        code = self._transport.get_returncode() if self._transport is not None else None
        if self._why:
            return EnvironmentCrashedError(self._why)
        if code == EXIT_OUT_OF_MEMORY:
            limit = f", {self._memory_bytes // 2**20} MiB" if self._memory_bytes else ""
            return EnvironmentCrashedError(f"its worker process ran out of memory{limit}")
        if code == -signal.SIGXCPU:
            return EnvironmentCrashedError("its worker process used up its processor time")
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return EnvironmentCrashedError(f"its worker process died of {signal.Signals(-code).name}")
        return EnvironmentCrashedError(f"its worker process ended with exit code {code}")

    async def let_go(self, number: int) -> None:
        """Have the process give up what it does for an environment. Raises as :meth:`ask`."""
        await self.ask(pickle.dumps(("let go", number)))

    async def wait_ended(self) -> None:
        """Wait for the end of a process that has been asked for it, not longer than it may take."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_LIMIT_S + _EXIT_LIMIT_S):
                await asyncio.shield(self.ended)

    def fail(self, error: Exception) -> None:
        """The process is of no use: it could not be started, or could not import what it needs."""
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # it may be that nobody waits for it
        self.kill(f"its worker process did not get ready: {error}")

    def retire(self) -> None:
        """Have the process close what it holds, and end."""
        self.condemned = True
        self._why = self._why or "its worker process was ended"
        if self._link is not None:
            self._link.close()

    def kill(self, why: str) -> None:
        """End the process, and whatever it has started, at once."""
        self.condemned = True
        self._why = self._why or why
        self._kill_group()

    def _kill_group(self) -> None:
        if self.pid and not self.ended.done():  # afterwards the number may be somebody else's
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _receive(self, number: int, message: bytes) -> None:
        future = self._asked.get(number)
        if future is None or future.done():
            return  # the caller has given up
        try:
            future.set_result(unpack_answer(message))
        except Exception as error:  # noqa: BLE001 - it belongs to the caller
            future.set_exception(error)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Called by the loop: the process has written something. It goes to the log, line by line."""
        *lines, self._line = (self._line + data).split(b"\n")
        if len(self._line) > _MAX_LINE:
            lines, self._line = [*lines, self._line], b""
        for line in lines:
            text = line[:_MAX_LINE].decode(errors="backslashreplace")
            if _log.isEnabledFor(logging.INFO):
                _log.info("worker %d: %s", self.pid, text)
            else:
                sys.stderr.write(f"worker {self.pid}: {text}\n")

    def _link_ended(self, _: object) -> None:
        if not self.ended.done():
            self._loop.call_later(_EXIT_LIMIT_S if not self._why else _END_LIMIT_S, self._kill_group)

    def process_exited(self) -> None:
        """Called by the loop."""
        self._kill_group()  # what the environments had started must not outlive them
        error = self.obituary()
        self.ended.set_result(None)
        if self._link is not None:
            self._link.close()
        for future in list(self._asked.values()):
            if not future.done():
                future.set_exception(error)
        tenants, self.tenants = self.tenants, {}
        self._told_end(self, error)
        for tell in tenants.values():
            tell(error)

    def connection_lost(self, error: Exception | None) -> None:
        """Called by the loop when the process has ended and its output is read."""
        if self._line:
            self.pipe_data_received(1, b"\n")
        if self._transport is not None:
            self._transport.close()
