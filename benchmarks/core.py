"""The framework against the public package and the bare transport: ``python -m benchmarks.core``.

Everything is measured in one run, in turn, many times over; a ratio is the median of the ratios of neighbours. The
public package runs in an environment of its own (``OPENENV_PEER_PYTHON`` or ``.venv-peer``), its server with uvicorn's
defaults, ours with those of ``openenv serve``. On a machine that is busy with other things, rates say more about those
than about the contestants: look at the processor times.
"""

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.contestants import SERVERS
from benchmarks.figures import Row, print_table, write_json
from benchmarks.rounds import FULL, QUICK, Effort, blocking, costs, opening, scaling, speed, started

__all__ = ["main"]


def _told(rows: Iterator[Row]) -> Iterator[Row]:
    """The same rows, each told on standard error when it has been measured: the whole takes minutes."""
    for row in rows:
        print("  ".join(cell for cell in row.cells(list(SERVERS)) if cell), file=sys.stderr, flush=True)
        yield row


def _scale_cells(sessions: int, batch: Row, sockets: Row) -> list[str]:
    figures = [batch.median("ours"), *(sockets.median(name) for name in ("ours", "peer", "bare"))]
    return [str(sessions), *(f"{figure:,.0f} ({1e6 / figure:,.1f} us)" for figure in figures)]


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
    effort = QUICK if arguments.quick else FULL
    facts = _facts(effort)
    print(json.dumps(facts))
    # Told to stop, it stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with started(effort) as field:
        rows = [*_told(speed(field)), *_told(blocking(field)), *_told(opening(field))]
        scales = list(scaling(field))
    rows += _told(costs(effort))
    header = ["figure (echo, loopback)", "unit", *SERVERS, "ratio", "target", "reached"]
    print_table("Against the public package and the bare transport", header, [row.cells(list(SERVERS)) for row in rows])
    header = ["sessions", "BatchClient", "v1 sockets, ours", "v1 sockets, peer", "v1 sockets, bare"]
    print_table(
        "Steps per second (and time per step) by number of sessions", header, [_scale_cells(*s) for s in scales]
    )
    if arguments.json:
        write_json(arguments.json, facts, {"figures": rows, "scaling": [row for _, *both in scales for row in both]})


if __name__ == "__main__":
    main()
