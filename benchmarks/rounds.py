"""The measuring itself: each function yields rows, one after another as they have been measured."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import imports, raw_client
from benchmarks.contestants import SERVERS, client, start_server
from benchmarks.figures import Row, Samples, interleaved
from benchmarks.processes import ServerProcess
from benchmarks.worker import Load, Worker

__all__ = ["FULL", "QUICK", "Effort", "Field", "blocking", "costs", "opening", "scaling", "speed", "started"]

_US, _MS, _MB, _KB = 1e6, 1e3, 2.0**-20, 2.0**-10

_MANY = 64
_LANES = 16
_SCALES = (1, 8, 64, 512)

Loads = dict[str, list[Load]]
Measures = dict[str, Callable[[], Any]]


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


FULL = Effort(seconds=0.5, repeats=15, fresh=3, idle=256)
QUICK = Effort(seconds=0.25, repeats=3, fresh=1, idle=64)


@dataclass(frozen=True)
class Field:
    """All that runs during a benchmark: servers and client processes by contestant."""

    servers: Mapping[str, ServerProcess]
    clients: Mapping[str, Worker]
    effort: Effort

    def trips(self, measure: Callable[..., float]) -> Samples:
        """Times of the raw client at every server."""
        seconds = self.effort.seconds
        measures = {
            name: partial(measure, server.websocket_url, seconds=seconds) for name, server in self.servers.items()
        }
        return interleaved(measures, self.effort.repeats)

    def raw(self, measure: Callable[..., Load], *names: str, **arguments: Any) -> Measures:
        """A measure of the raw client, at the servers of these contestants."""
        return {
            name: partial(measure, self.servers[name].websocket_url, **self._common(name), **arguments)
            for name in names
        }

    def own(self, measures: Mapping[str, str], **arguments: Any) -> Measures:
        """A measure of each contestant's own client, at its own server; it need not have one name everywhere."""
        return {
            name: partial(
                self.clients[name].ask, measure, url=self.servers[name].base_url, **self._common(name), **arguments
            )
            for name, measure in measures.items()
        }

    def _common(self, name: str) -> dict[str, Any]:
        return {"seconds": self.effort.seconds, "server_pid": self.servers[name].process.pid}


@contextlib.contextmanager
def started(effort: Effort) -> Iterator[Field]:
    """Every server and client process, until the block ends."""
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


def _rates(loads: Loads) -> Samples:
    return {name: [load["rate"] for load in found] for name, found in loads.items()}


def _server_cpu(loads: Loads) -> Samples:
    return {name: [load["server_cpu"] for load in found] for name, found in loads.items()}


def _all_cpu(loads: Loads) -> Samples:
    return {name: [load["server_cpu"] + load["client_cpu"] for load in found] for name, found in loads.items()}


def speed(field: Field) -> Iterator[Row]:
    """How fast steps are, of one session and of many."""
    repeats = field.effort.repeats
    trip = field.trips(raw_client.round_trip)
    yield Row("v1 round trip, 1 session, blocking websockets client", "us", trip, "bare", at_most=1.2, scale=_US)
    trip = field.trips(raw_client.round_trip_lean)
    yield Row("v1 round trip, 1 session, Sans-I/O client", "us", trip, "bare", scale=_US)
    steps = interleaved(field.raw(raw_client.many_steps, *SERVERS, sessions=_MANY), repeats)
    yield Row(f"v1 steps, {_MANY} sessions on {_MANY} sockets, raw client", "1/s", _rates(steps), at_least=2)
    yield Row("  processor time of the server for one of them", "us", _server_cpu(steps), scale=_US)
    batch = interleaved(field.own({"ours": "batch_steps", "peer": "many_steps"}, sessions=_MANY), repeats)
    yield Row(f"steps, BatchClient of {_MANY}; peer: {_MANY} async clients", "1/s", _rates(batch), at_least=10)
    yield Row("  processor time of both sides for one of them", "us", _all_cpu(batch), scale=_US)
    clients = interleaved(field.own({"ours": "many_steps", "peer": "many_steps"}, sessions=_MANY), repeats)
    yield Row(f"steps, {_MANY} async clients of either", "1/s", _rates(clients))
    yield Row("  processor time of both sides for one of them", "us", _all_cpu(clients), scale=_US)


def blocking(field: Field) -> Iterator[Row]:
    """How fast a step of the blocking client is."""
    seconds = field.effort.seconds
    measures = {
        name: partial(worker.measure, "sync_step", url=field.servers[name].base_url, seconds=seconds)
        for name, worker in field.clients.items()
    }
    steps = interleaved(measures, field.effort.repeats)
    yield Row("step of the blocking client, p50", "us", steps, at_most=0.6, scale=_US)


def opening(field: Field) -> Iterator[Row]:
    """How fast sessions come and go."""
    single = {"ours": "open_one_by_one", "peer": "open_one_by_one"}
    yield from _sessions(field, "blocking clients, one by one", field.own(single))
    many = {"ours": "open_many", "peer": "open_many"}
    yield from _sessions(field, f"async clients, {_LANES} at a time", field.own(many, lanes=_LANES))
    batch = {"ours": "open_batch", "peer": "open_many"}
    yield from _sessions(field, f"BatchClient of {_MANY}; peer: async clients", field.own(batch, lanes=_MANY))
    loads = interleaved(field.raw(raw_client.open_many, *SERVERS, lanes=_LANES), field.effort.repeats)
    yield Row(f"open + reset + close, raw client, {_LANES} at a time", "1/s", _rates(loads))
    yield Row("  processor time of the server for one session", "us", _server_cpu(loads), scale=_US)


def _sessions(field: Field, who: str, measures: Measures) -> Iterator[Row]:
    loads = interleaved(measures, field.effort.repeats)
    yield Row(f"open + reset + close, {who}", "1/s", _rates(loads), at_least=3)
    yield Row("  processor time of both sides for one session", "us", _all_cpu(loads), scale=_US)


def costs(effort: Effort) -> Iterator[Row]:
    """What a client costs to import, and a server to keep a session."""
    both = ("ours", "peer")
    for name in both:
        imports.time_taken(name)()  # writes the byte code, reads the files into the page cache
    seconds = interleaved({name: imports.time_taken(name) for name in both}, effort.fresh)
    yield Row("import of the echo client, time", "ms", seconds, at_most=1 / 8, scale=_MS)
    memory = interleaved({name: imports.memory(name) for name in both}, effort.fresh)
    yield Row("import of the echo client, memory over bare Python", "MB", memory, at_most=1 / 4, scale=_MB)
    contestants = ("ours", "peer", "bare")
    idle = interleaved({name: partial(_idle_session, name, effort.idle) for name in contestants}, effort.fresh)
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


def scaling(field: Field) -> Iterator[tuple[int, Row, Row]]:
    """Steps per second by number of sessions: over one socket, and each on its own."""
    for sessions in _SCALES:
        batch = field.own({"ours": "batch_steps"}, sessions=sessions)["ours"]
        sockets = field.raw(raw_client.many_steps, "ours", "peer", "bare", sessions=sessions)
        measured = _rates(interleaved({"batch": batch, **sockets}, field.effort.fresh))
        yield (
            sessions,
            Row(f"BatchClient, {sessions} sessions", "steps/s", {"ours": measured.pop("batch")}),
            Row(f"v1, {sessions} sessions on {sessions} sockets", "steps/s", measured),
        )
