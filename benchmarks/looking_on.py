"""What it costs a server to be recorded, and to be watched: ``python -m benchmarks.looking_on``.

The same server under the same loads, as it is by default and with somebody looking on, measured in turn: a ratio is
the median of the ratios of neighbours. ``watched``: a page is open that lists the sessions and follows an idle one.
"""

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import httpx

from benchmarks import raw_client
from benchmarks.contestants import MAX_SESSIONS, SERVERS, client
from benchmarks.figures import interleaved, print_table
from benchmarks.processes import ServerProcess, running, source_path
from benchmarks.worker import Load, Worker
from echo_env import EchoAction, EchoEnv

__all__ = ["main"]

_SESSIONS = 64
_POLL_S = 2.0
_WAYS = ("off", "web", "watched", "recorded")


@contextlib.contextmanager
def _servers() -> Iterator[dict[str, ServerProcess]]:
    with contextlib.ExitStack() as stack:
        environment = {"PYTHONPATH": source_path(), "MAX_CONCURRENT_ENVS": str(MAX_SESSIONS)}
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        more = {"off": [], "web": ["--web"], "watched": ["--web"], "recorded": ["--record", folder]}
        servers = {
            way: stack.enter_context(running([*SERVERS["ours"], *more[way]], environment=environment)) for way in _WAYS
        }
        stack.enter_context(_watching(servers["watched"].base_url))
        yield servers


@contextlib.contextmanager
def _watching(url: str) -> Iterator[None]:
    """A page: it asks for the list and the totals every two seconds, and follows a session that does nothing."""
    over = threading.Event()

    def poll() -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=30) as page:
            while not over.wait(_POLL_S):
                page.get("/web/api/sessions").raise_for_status()
                page.get("/web/api/totals").raise_for_status()

    with EchoEnv(base_url=url) as idle, httpx.Client(base_url=url, trust_env=False, timeout=30) as page:
        idle.reset()
        idle.step(EchoAction(message="watched"))
        session = page.get("/web/api/sessions").json()["sessions"][0]["id"]
        with page.stream("GET", f"/web/api/sessions/{session}/events") as stream:
            stream.raise_for_status()
            next(stream.iter_lines())
            thread = threading.Thread(target=poll)
            thread.start()
            try:
                yield
            finally:
                over.set()
                thread.join()


def _loads(servers: Mapping[str, ServerProcess], worker: Worker, seconds: float) -> Iterator[tuple[str, Any]]:
    """Each kind of load: what it is called, and how one sample of it is taken, by server."""

    def measures(measure: Callable[..., Any], *, websocket: bool = False, **arguments: Any) -> dict[str, Any]:
        return {
            way: partial(
                measure,
                url=server.websocket_url if websocket else server.base_url,
                server_pid=server.process.pid,
                seconds=seconds,
                **arguments,
            )
            for way, server in servers.items()
        }

    yield f"v1, {_SESSIONS} sockets", measures(raw_client.many_steps, websocket=True, sessions=_SESSIONS)
    yield f"BatchClient of {_SESSIONS}", measures(partial(worker.ask, "batch_steps"), sessions=_SESSIONS)
    yield "open + reset + close", measures(raw_client.open_many, websocket=True, lanes=16)


def _rows(name: str, loads: Mapping[str, list[Load]]) -> Iterator[list[str]]:
    figures: tuple[tuple[str, str, float], ...] = (("rate", "1/s", 1.0), ("server_cpu", "us of the server", 1e6))
    for figure, unit, scale in figures:
        samples = {way: [float(load[figure]) for load in found] for way, found in loads.items()}  # type: ignore[literal-required]
        cells = []
        for way in _WAYS:
            ratio = statistics.median(a / b for a, b in zip(samples[way], samples["off"], strict=True))
            cells.append(f"{statistics.median(samples[way]) * scale:,.1f} ({ratio:.2f})")
        yield [name, unit, *cells]


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.looking_on", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one sample")
    parser.add_argument("--repeats", type=int, default=9, help="samples of each figure")
    arguments = parser.parse_args(words)
    rows: list[list[str]] = []
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(_servers())
        worker = client("ours")
        stack.callback(worker.stop)
        for name, measures in _loads(servers, worker, arguments.seconds):
            print(name, file=sys.stderr, flush=True)
            rows += _rows(name, interleaved(measures, arguments.repeats))
        metrics = httpx.get(f"{servers['recorded'].base_url}/metrics", trust_env=False).text
        counted = [line for line in metrics.splitlines() if line.startswith("openenv_record")]
    print_table("Echo, one server process: median of samples (ratio to off)", ["load", "unit", *_WAYS], rows)
    print(json.dumps(counted, indent=1))


if __name__ == "__main__":
    main()
