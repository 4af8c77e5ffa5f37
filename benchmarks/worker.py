"""A client in a process of its own, told by lines of JSON what to do; and the loops that every client shares.

Only the standard library is imported: the same file serves clients of this framework and of the public package.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["MESSAGE", "Worker", "lanes_per_second", "median_time", "rate", "serve", "steps_per_second"]

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


def rate(call: Callable[[], object], seconds: float) -> float:
    """Calls per second, one after another."""
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        call()
        count += 1
    return count / (time.perf_counter() - start)


async def steps_per_second(steps: Sequence[Callable[[], Awaitable[object]]], seconds: float) -> float:
    """Calls per second where each of ``steps`` runs again and again beside the others."""
    count, start = 0, time.perf_counter()

    async def repeat(step: Callable[[], Awaitable[object]]) -> None:
        nonlocal count
        while time.perf_counter() - start < seconds:
            await step()
            count += 1

    await asyncio.gather(*map(repeat, steps))
    return count / (time.perf_counter() - start)


async def lanes_per_second(call: Callable[[], Awaitable[object]], lanes: int, seconds: float) -> float:
    """Calls per second where ``lanes`` of them run at a time."""
    return await steps_per_second([call] * lanes, seconds)


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
