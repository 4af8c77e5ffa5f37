"""Our browser server against BrowserGym itself: ``python -m benchmarks.browser``.

Both do the same in MiniWoB's click-test, at its own viewport, and take accessibility tree and picture each time. `ours`
is the server of ``openenv serve`` with clients in another process. `browsergym` is browsergym-core in one process,
without a server and without its pauses; it is installed in an environment of its own, since it pins an old Playwright:

    python3 -m venv .venv-browsergym
    .venv-browsergym/bin/pip install browsergym-core browsergym-miniwob
    .venv-browsergym/bin/pip install --no-deps miniwob

Where that is not there, ours is measured alone.
"""

import argparse
import contextlib
import json
import os
import platform
import signal
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.browser_actions import ACTIONS, memory_below
from benchmarks.figures import Row, interleaved, print_table, write_json
from benchmarks.processes import REPOSITORY, running, source_path
from benchmarks.worker import Worker
from browsergym_env_server.executable import find_browser

__all__ = ["main"]

_MS, _MIB, _KB = 1e3, 2.0**-20, 1e-3
_SESSIONS = 8


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        steps, resets: samples of each.
        seconds: length of one sample of steps per second.
        rates: samples of it.
    """

    steps: int
    resets: int
    seconds: float
    rates: int


_FULL = Effort(steps=200, resets=40, seconds=10.0, rates=3)
_QUICK = Effort(steps=40, resets=8, seconds=4.0, rates=1)


@dataclass(frozen=True)
class Target:
    """A figure of ours that is to be reached. The limit is a largest value unless ``is_least``."""

    figure: str
    value: float
    limit: float
    unit: str
    is_least: bool = False

    def cells(self) -> list[str]:
        """The row of the printed table."""
        reached = self.value >= self.limit if self.is_least else self.value <= self.limit
        limit = f"{'>=' if self.is_least else '<='} {self.limit:g} {self.unit}"
        return [self.figure, f"{self.value:.3g} {self.unit}", limit, "yes" if reached else "NO"]


def _peer_python() -> Path | None:
    """The interpreter that has BrowserGym: ``OPENENV_BROWSERGYM_PYTHON``, else that of ``.venv-browsergym``."""
    given = os.environ.get("OPENENV_BROWSERGYM_PYTHON")
    python = Path(given) if given else REPOSITORY / ".venv-browsergym" / "bin" / "python"
    return python.absolute() if python.is_file() else None


@contextlib.contextmanager
def _worker(python: Path | str, module: str, search_path: str) -> Iterator[Worker]:
    environment = {**os.environ, "PYTHONPATH": search_path}
    worker = Worker([str(python), "-m", f"benchmarks.{module}"], environment, REPOSITORY)
    try:
        yield worker
    finally:
        worker.stop()


def _measure(effort: Effort) -> tuple[list[Row], list[Target], list[list[str]]]:
    command = [sys.executable, "-m", "openenv_core.cli", "serve", "browsergym_env_server:spec", "--port", "{port}"]
    variables = {"PYTHONPATH": source_path(), "MAX_CONCURRENT_ENVS": str(2 * _SESSIONS)}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running(command, environment=variables))
        clients = stack.enter_context(_worker(sys.executable, "browser_clients", source_path()))
        memories: dict[str, Callable[[], int]] = {"ours": partial(memory_below, server.process.pid)}
        workers, arguments = {"ours": clients}, {"ours": {"url": server.base_url}}
        cold = clients.measure("first", url=server.base_url, seed=0)
        peer = _peer_python()
        if peer is not None:
            library = stack.enter_context(_worker(peer, "browser_gym", str(REPOSITORY)))
            library.ask("start", browser=str(find_browser().path))
            workers["browsergym"], arguments["browsergym"] = library, {}
            memories["browsergym"] = lambda: int(library.ask("memory"))
        times = _times(workers, arguments, effort)
        frame = clients.measure("frame")
        costs = {name: [_further(worker, arguments[name], memories[name])] for name, worker in workers.items()}
        rates = interleaved(_rates(workers, server.base_url, effort), effort.rates)
        alone = [["first session of a server, with the start of its browser", f"{cold * _MS:.0f} ms"]]
        alone += _alone(clients, server.base_url, effort)
    rows = [
        Row("step, 1 session", "ms", times["step"], "browsergym", scale=_MS),
        Row("reset, warm", "ms", times["reset"], "browsergym", scale=_MS),
        Row(f"steps per second, {_SESSIONS} sessions", "1/s", rates, "browsergym"),
        Row("memory of a further session", "MiB", costs, "browsergym", scale=_MIB),
        Row("frame of an observation", "kB", {"ours": [frame]}, "browsergym", scale=_KB),
    ]
    step, reset, rate, memory, frame_row = (row.median("ours") for row in rows)
    return (
        rows,
        [
            Target("step p50, 1 session", step, 80.0, "ms"),
            Target(f"steps per second, {_SESSIONS} sessions in one server", rate, 30.0, "1/s", is_least=True),
            Target("reset p50, warm", reset, 200.0, "ms"),
            Target("memory of a further session", memory, 20.0, "MiB"),
            Target("frame", frame_row, 60.0, "kB"),
        ],
        alone,
    )


def _times(workers: dict[str, Worker], arguments: dict[str, Any], effort: Effort) -> dict[str, dict[str, list[float]]]:
    """Seconds of steps and resets of one session."""
    for name, worker in workers.items():
        worker.ask("open", sessions=1, **arguments[name])
        for seed in range(2):
            worker.ask("reset", seed=seed)
    found: dict[str, dict[str, list[float]]] = {"step": {}, "reset": {}}
    turns = {name: iter(range(effort.steps)) for name in workers}
    measures = {
        name: lambda n=name, w=worker: w.measure("step", turn=next(turns[n])) for name, worker in workers.items()
    }
    found["step"] = interleaved(measures, effort.steps)
    seeds = {name: iter(range(effort.resets)) for name in workers}
    resets = {
        name: lambda n=name, w=worker: w.measure("reset", seed=next(seeds[n])) for name, worker in workers.items()
    }
    found["reset"] = interleaved(resets, effort.resets)
    return found


def _further(worker: Worker, arguments: dict[str, Any], memory: Callable[[], int]) -> float:
    """Bytes of each session after the first."""
    before = float(memory())
    worker.ask("open", sessions=_SESSIONS, **arguments)
    return (float(memory()) - before) / (_SESSIONS - 1)


def _rates(workers: dict[str, Worker], url: str, effort: Effort) -> dict[str, Any]:
    """Measures of steps per second. BrowserGym's sessions are open; ours get new ones, on one loop for all."""
    measures: dict[str, Any] = {}
    for name, worker in workers.items():
        own = {"url": url, "sessions": _SESSIONS} if name == "ours" else {}
        if name == "ours":
            worker.ask("close")
        measures[name] = partial(worker.measure, "rate", seconds=effort.seconds, **own)
    return measures


def _alone(clients: Worker, url: str, effort: Effort) -> list[list[str]]:
    """Figures of ours for which BrowserGym has no counterpart, or takes too long."""
    found: list[list[str]] = []
    for observed in (["axtree"], ["axtree", "screenshot"]):
        clients.ask("open", sessions=1, url=url)
        clients.ask("reset", seed=0, observe=observed)
        percentiles = statistics.quantiles((clients.measure("step", turn=n) for n in range(effort.steps)), n=100)
        times = f"{percentiles[49] * _MS:.1f} ms, {percentiles[98] * _MS:.1f} ms"
        found.append([f"step p50, p99, {' and '.join(observed)}", times])
        clients.ask("close")
    first = statistics.median(clients.measure("first", url=url, seed=n) for n in range(effort.resets))
    found.append(["a session's opening and first observation, p50", f"{first * _MS:.0f} ms"])
    for sessions in (1, 4, 8, 16):
        rate = clients.measure("rate", url=url, sessions=sessions, seconds=effort.seconds)
        found.append([f"steps per second, sessions at once: {sessions}", f"{rate:.1f}"])
    return found


def _facts(effort: Effort) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()} {platform.release()}",
        "packages": {name: version(name) for name in ("playwright", "pydantic", "uvicorn", "websockets")},
        "browser": str(find_browser().path),
        "load_average": os.getloadavg(),
        "actions": ACTIONS,
        "steps": effort.steps,
    }


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.browser", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument("--quick", action="store_true", help="few samples")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(words)
    # Told to stop, it stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    effort = _QUICK if arguments.quick else _FULL
    facts = _facts(effort)
    print(json.dumps(facts))
    rows, targets, alone = _measure(effort)
    contestants = sorted({name for row in rows for name in row.samples}, reverse=True)
    header = ["figure", "unit", *contestants, "ours / browsergym"]
    cells = [[*row.cells(contestants)[: 2 + len(contestants)], f"{row.ratio:.2f}" if row.ratio else ""] for row in rows]
    print_table("Against BrowserGym itself", header, cells)
    print_table("Ours alone", ["figure", "measured"], alone)
    print_table("Targets", ["figure", "measured", "target", "reached"], [target.cells() for target in targets])
    if arguments.json:
        write_json(
            arguments.json,
            {**facts, "alone": alone, "targets": [target.cells() for target in targets]},
            {"figures": rows},
        )


if __name__ == "__main__":
    main()
