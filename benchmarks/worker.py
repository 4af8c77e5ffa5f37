"""A client in a process of its own, told by lines of JSON what to do; and the loops that every client shares.

Only the standard library is imported: the same file serves clients of this framework and of the public package.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

__all__ = ["MESSAGE", "Load", "Worker", "load_of", "load_of_all", "median_time", "serve"]

MESSAGE = "hello world"
"""What every client says to every server."""

_WARM_UP = 20


def median_time(call: Callable[[], object], seconds: float) -> float:
    """Median time of one call in seconds, over as many calls as fit into ``seconds``, after a few that do not count."""
    for _ in range(_WARM_UP):
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Load(TypedDict):
    """What many calls came to.

    Attributes:
        rate: calls per second.
        server_cpu, client_cpu: processor seconds of either process for one call. Unlike the rate they hardly depend on
            what else the machine does.
    """

    rate: float
    server_cpu: float
    client_cpu: float


class Meter:
    """Runs from when it is made."""

    def __init__(self, server_pid: int) -> None:
        self._pid = server_pid
        self._server, self._client, self._start = cpu_seconds(server_pid), time.process_time(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """For so long."""
        return time.perf_counter() - self._start

    def load(self, calls: int) -> Load:
        """What so many calls came to."""
        server, client = cpu_seconds(self._pid) - self._server, time.process_time() - self._client
        return Load(rate=calls / self.seconds, server_cpu=server / calls, client_cpu=client / calls)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and all threads it ever had, in seconds, to the tick of 10 ms."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def load_of(call: Callable[[], object], seconds: float, server_pid: int, *, weight: int = 1) -> Load:
    """Calls one after another; one call counts as ``weight``."""
    count, meter = 0, Meter(server_pid)
    while meter.seconds < seconds:
        call()
        count += weight
    return meter.load(count)


async def load_of_all(calls: Sequence[Callable[[], Awaitable[object]]], seconds: float, server_pid: int) -> Load:
    """Each of ``calls`` again and again, beside the others."""
    count, meter = 0, Meter(server_pid)

    async def repeat(call: Callable[[], Awaitable[object]]) -> None:
        nonlocal count
        while meter.seconds < seconds:
            await call()
            count += 1

    await asyncio.gather(*map(repeat, calls))
    return meter.load(count)


def serve(tasks: Mapping[str, Callable[..., Any]]) -> None:
    """Do what is asked on standard input, until it ends; answer on standard output."""
    for line in sys.stdin:
        request = json.loads(line)
        value = tasks[request["task"]](**request["arguments"])
        print(json.dumps({"value": value}), flush=True)


class Worker:
    """A process that runs :func:`serve`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder, text=True
        )

    def ask(self, task: str, **arguments: Any) -> Any:
        """Have something done and return its result.

        Raises:
            RuntimeError: the worker ended instead; its traceback is on standard error.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"task": task, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client process ended during {task}")
        return json.loads(line)["value"]

    def measure(self, task: str, **arguments: Any) -> float:
        """Have a number measured. Raises as :meth:`ask` does."""
        return float(self.ask(task, **arguments))

    def stop(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
