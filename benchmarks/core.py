"""The framework against the public package and the bare transport: ``python -m benchmarks.core``.

Everything is measured in one run, in turn, many times over; a ratio is the median of the ratios of neighbours. The
public package runs in an environment of its own (``OPENENV_PEER_PYTHON`` or ``.venv-peer``), servers with uvicorn's
defaults for the public package and with those of ``openenv serve`` for ours.
"""

import argparse
import contextlib
import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import imports, raw_client
from benchmarks.contestants import SERVERS, client, start_server
from benchmarks.figures import Row, interleaved, print_table, write_json
from benchmarks.processes import ServerProcess
from benchmarks.worker import Worker

__all__ = ["main"]

_US, _MS, _MB, _KB = 1e6, 1e3, 2.0**-20, 2.0**-10

_MANY = 64
_LANES = 16
_SCALES = (1, 8, 64, 512)


@dataclass(frozen=True)
class Effort:
    """How long and how often to measure.

    Attributes:
        seconds: length of one sample.
        repeats: samples of one figure.
        fresh: samples of a figure that needs fresh processes, or hundreds of fresh sessions, each time.
        idle: sessions that are held for the memory of one.
    """

    seconds: float
    repeats: int
    fresh: int
    idle: int


_FULL = Effort(seconds=0.5, repeats=15, fresh=3, idle=256)
_QUICK = Effort(seconds=0.25, repeats=3, fresh=1, idle=64)


@dataclass(frozen=True)
class Field:
    """All that runs during a benchmark: servers and client processes by contestant."""

    servers: Mapping[str, ServerProcess]
    clients: Mapping[str, Worker]
    effort: Effort

    def raw(self, measure: Callable[..., float], *names: str, **arguments: Any) -> dict[str, Callable[[], float]]:
        """A measure of the raw client, by contestant."""
        seconds = self.effort.seconds
        return {
            name: partial(measure, self.servers[name].websocket_url, seconds=seconds, **arguments) for name in names
        }

    def own(self, measures: Mapping[str, str], **arguments: Any) -> dict[str, Callable[[], float]]:
        """A measure of each contestant's own client, by contestant; the public package's may have another name."""
        seconds = self.effort.seconds
        return {
            name: partial(
                self.clients[name].measure, measure, url=self.servers[name].base_url, seconds=seconds, **arguments
            )
            for name, measure in measures.items()
        }


@contextlib.contextmanager
def _started(effort: Effort) -> Iterator[Field]:
    with contextlib.ExitStack() as stack:
        servers: dict[str, ServerProcess] = {}
        for name in SERVERS:
            servers[name] = start_server(name)
            stack.callback(servers[name].log.unlink)
            stack.callback(servers[name].stop)
        clients = {name: client(name) for name in ("ours", "peer")}
        for worker in clients.values():
            stack.callback(worker.stop)
        yield Field(servers, clients, effort)


def _speed(field: Field) -> Iterator[Row]:
    repeats = field.effort.repeats
    everyone = tuple(SERVERS)
    trip = interleaved(field.raw(raw_client.round_trip, *everyone), repeats)
    yield Row("v1 round trip, 1 session, blocking websockets client", "us", trip, "bare", at_most=1.2, scale=_US)
    trip = interleaved(field.raw(raw_client.round_trip_lean, *everyone), repeats)
    yield Row("v1 round trip, 1 session, Sans-I/O client", "us", trip, "bare", scale=_US)
    steps = interleaved(field.raw(raw_client.many_steps, *everyone, sessions=_MANY), repeats)
    yield Row(f"v1 steps, {_MANY} sessions on {_MANY} sockets, raw client", "1/s", steps, at_least=2)
    batch = interleaved(field.own({"ours": "batch_steps", "peer": "many_steps"}, sessions=_MANY), repeats)
    yield Row(f"BatchClient, {_MANY} sessions; peer's clients, {_MANY} sockets", "steps/s", batch, at_least=10)
    blocking = interleaved(field.own({"ours": "sync_step", "peer": "sync_step"}), repeats)
    yield Row("step of the blocking client, p50", "us", blocking, at_most=0.6, scale=_US)


def _opening(field: Field) -> Iterator[Row]:
    repeats = field.effort.repeats
    single = interleaved(field.own({"ours": "open_one_by_one", "peer": "open_one_by_one"}), repeats)
    yield Row("open + reset + close, blocking clients, one by one", "1/s", single, at_least=3)
    many = interleaved(field.own({"ours": "open_many", "peer": "open_many"}, lanes=_LANES), repeats)
    yield Row(f"open + reset + close, async clients, {_LANES} at a time", "1/s", many, at_least=3)
    batch = interleaved(field.own({"ours": "open_batch", "peer": "open_many"}, lanes=_MANY), repeats)
    yield Row(f"open + reset + close, BatchClient; peer's clients, {_MANY} at a time", "1/s", batch, at_least=3)
    raw = interleaved(field.raw(raw_client.open_many, *SERVERS, lanes=_LANES), repeats)
    yield Row(f"open + reset + close, raw client, {_LANES} at a time", "1/s", raw)


def _costs(effort: Effort) -> Iterator[Row]:
    both = ("ours", "peer")
    for name in both:
        imports.time_taken(name)()  # writes the byte code, reads the files into the page cache
    seconds = interleaved({name: imports.time_taken(name) for name in both}, effort.fresh)
    yield Row("import of the echo client, time", "ms", seconds, at_most=1 / 8, scale=_MS)
    memory = interleaved({name: imports.memory(name) for name in both}, effort.fresh)
    yield Row("import of the echo client, memory over bare Python", "MB", memory, at_most=1 / 4, scale=_MB)
    idle = interleaved({name: partial(_idle_session, name, effort.idle) for name in both}, effort.fresh)
    yield Row("memory of an idle session on a v1 socket", "KB", idle, at_most=1 / 3, scale=_KB)


def _idle_session(name: str, sessions: int) -> float:
    """Bytes by which a fresh server grows for each session that is held, after a first one has come and gone."""
    server = start_server(name)
    try:
        with raw_client.held(server.websocket_url, 1):
            pass
        before = server.memory()
        with raw_client.held(server.websocket_url, sessions):
            return (server.memory() - before) / sessions
    finally:
        server.stop()
        server.log.unlink()


def _scaling(field: Field) -> Iterator[tuple[int, Row, Row]]:
    for sessions in _SCALES:
        batch = field.own({"ours": "batch_steps"}, sessions=sessions)["ours"]
        sockets = field.raw(raw_client.many_steps, "ours", "peer", "bare", sessions=sessions)
        measured = interleaved({"batch": batch, **sockets}, field.effort.fresh)
        yield (
            sessions,
            Row(f"BatchClient, {sessions} sessions", "steps/s", {"ours": measured.pop("batch")}),
            Row(f"v1, {sessions} sessions on {sessions} sockets", "steps/s", measured),
        )


def _told(rows: Iterator[Row]) -> Iterator[Row]:
    """The same rows, each told on standard error when it has been measured: the whole takes minutes."""
    for row in rows:
        print("  ".join(cell for cell in row.cells(list(SERVERS)) if cell), file=sys.stderr, flush=True)
        yield row


def _scaling_cells(sessions: int, batch: Row, sockets: Row) -> list[str]:
    figures = [batch.median("ours"), *(sockets.median(name) for name in ("ours", "peer", "bare"))]
    return [str(sessions), *(f"{figure:,.0f} ({_US / figure:,.1f} us)" for figure in figures)]


def _facts(effort: Effort) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()} {platform.release()}",
        "packages": {name: version(name) for name in ("pydantic", "uvicorn", "websockets", "uvloop", "httptools")},
        "load_average": os.getloadavg(),
        "seconds": effort.seconds,
        "repeats": effort.repeats,
    }


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument("--quick", action="store_true", help="a few seconds per row")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(words)
    effort = _QUICK if arguments.quick else _FULL
    facts = _facts(effort)
    print(json.dumps(facts))
    # Told to stop, it stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with _started(effort) as field:
        rows = [*_told(_speed(field)), *_told(_opening(field))]
        scaling = list(_scaling(field))
    rows += _told(_costs(effort))
    header = ["figure (echo, loopback)", "unit", *SERVERS, "ratio", "target", "reached"]
    print_table("Against the public package and the bare transport", header, [row.cells(list(SERVERS)) for row in rows])
    header = ["sessions", "BatchClient", "v1 sockets, ours", "v1 sockets, peer", "v1 sockets, bare"]
    print_table(
        "Steps per second (and time per step) by number of sessions", header, [_scaling_cells(*s) for s in scaling]
    )
    if arguments.json:
        write_json(arguments.json, facts, {"figures": rows, "scaling": [row for _, *both in scaling for row in both]})


if __name__ == "__main__":
    main()
