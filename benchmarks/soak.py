"""``python -m benchmarks.soak --minutes N``: a long mixed load with faults, and what a server holds meanwhile.

Clients of every kind play without a pause while their connections are cut, delayed, frozen, worker processes are
killed and clients are forgotten without a goodbye. Every observation is checked. At the end all clients go, and what
the server holds must be what it held before.
"""

import argparse
import contextlib
import functools
import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import print_table
from benchmarks.soak_chart import Sample, draw_svg, sparkline
from openenv_core.errors import ConnectionFailedError, EnvironmentFactoryError, OpenEnvError, SessionLostError
from tests.process.places import Count, Place, active, children, descriptors, resident_mb, serving, threads
from tests.process.players import IMPATIENT, PLAYERS, Episode, disturbed
from tests.support.fault_proxy import FaultProxy

__all__ = ["main"]

_LIMITS = {
    "MAX_CONCURRENT_ENVS": 32,
    "OPENENV_SESSIONS_PER_WORKER": 4,
    "OPENENV_PING_INTERVAL_S": 1,
    "OPENENV_PING_TIMEOUT_S": 2,
    "OPENENV_RESUME_GRACE_S": 10,
}
_ROWS = 20
_EPISODES_AT_A_TIME = 4
_SETTLE_S = 40.0
_GROWTH_MB = 16.0
"""So much more memory at the end than after the first tenth is a leak; allocators keep less."""


class Soak:
    """The load on one server, and the count of what became of it."""

    def __init__(self, place: Place, proxy: FaultProxy, seed: int) -> None:
        self._place = place
        self._proxy = proxy
        self._rng = random.Random(seed)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.episodes = 0
        self.losses: Counter[str] = Counter()
        self.wrong: list[BaseException] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Play, for the length of a block."""
        kinds = (*PLAYERS, "blocking", "awaiting")
        jobs = [functools.partial(self._play, kind, self._rng.random()) for kind in kinds]
        jobs += [functools.partial(job, self._rng.random()) for job in (self._forget, self._kill_workers)]
        self._threads = [threading.Thread(target=job) for job in jobs]
        for thread in self._threads:
            thread.start()
        try:
            with disturbed(self._proxy, random.Random(self._rng.random()), pause_s=1.0):
                yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(120)
            gc.collect()  # clients that ended with an error are held by its traceback until then

    def _play(self, kind: str, seed: float) -> None:
        rng = random.Random(seed)
        while not self._stop.is_set():
            episodes = [Episode.drawn("soak", rng, 10) for _ in range(_EPISODES_AT_A_TIME)]
            try:
                PLAYERS[kind](self._proxy.base_url, episodes)
                self.episodes += len(episodes)
            except SessionLostError as lost:
                self.losses[lost.reason] += 1
            except (ConnectionFailedError, EnvironmentFactoryError) as error:
                self.losses[error.code.lower()] += 1
            except (OpenEnvError, AssertionError) as error:
                self.wrong.append(error)

    def _forget(self, seed: float) -> None:
        rng = random.Random(seed)
        while not self._stop.wait(rng.uniform(0.5, 3.0)):
            with contextlib.suppress(OpenEnvError):
                Count(self._proxy.base_url, **IMPATIENT).reset()
                self.losses["forgotten on purpose"] += 1

    def _kill_workers(self, seed: float) -> None:
        rng = random.Random(seed)
        while not self._stop.wait(rng.uniform(5.0, 15.0)):
            workers = children(self._place.pid)
            if workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(workers), signal.SIGKILL)

    def sample(self, started: float) -> Sample:
        """What the server holds at this moment."""
        pid = self._place.pid
        return Sample(
            minute=(time.monotonic() - started) / 60,
            sessions=active(self._place.base_url),
            episodes=self.episodes,
            losses=sum(self.losses.values()),
            server_mb=resident_mb(pid),
            workers=len(children(pid)),
            threads=threads(pid),
            descriptors=descriptors(pid),
        )


def _soak(world: str, minutes: float, seed: int, chart: Path | None) -> bool:
    """One server's soak. Returns whether all was in order."""
    with tempfile.TemporaryDirectory() as folder, serving(world, Path(folder), **_LIMITS) as place:
        os.environ.pop("OPENENV_TEST_JOURNAL", None)
        with FaultProxy(place.server.port) as proxy:
            soak = Soak(place, proxy, seed)
            started = time.monotonic()
            samples = [soak.sample(started)]
            with soak.running():
                while time.monotonic() - started < minutes * 60:
                    time.sleep(minutes * 60 / (_ROWS * 5))
                    samples.append(soak.sample(started))
            samples.append(_settled(soak, started))
        orderly = _report(world, soak, samples)
        if chart is not None:
            path = chart.with_stem(f"{chart.stem}-{world}")
            path.write_text(draw_svg(f"Soak of {world}", samples))
            print(f"drawn: {path}")
        if soak.wrong:
            print(place.server.log_tail())
    return orderly


def _settled(soak: Soak, started: float) -> Sample:
    """What is left when all clients are gone and every grace is over."""
    deadline = time.monotonic() + _SETTLE_S
    sample = soak.sample(started)
    while time.monotonic() < deadline:
        time.sleep(0.5)
        sample = soak.sample(started)
        if sample.sessions == 0 and time.monotonic() > deadline - _SETTLE_S + 8:  # clients keep connections for 5 s
            break
    return sample


def _report(world: str, soak: Soak, samples: list[Sample]) -> bool:
    shown = [*samples[:: max(1, len(samples) // _ROWS)], samples[-1]]
    print_table(
        f"{world}: over time; the last row when all clients are gone", Sample.HEADER, [s.cells() for s in shown]
    )
    for name in ("sessions", "server_mb", "descriptors"):
        print(f"{name:12} {sparkline([getattr(sample, name) for sample in samples])}")
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(soak.losses.items())) or "none"
    print(f"sessions lost, by reason: {reasons}")
    first, early, last = samples[0], samples[len(samples) // 10 + 1], samples[-1]
    faults = [f"wrong: {error}" for error in soak.wrong[:5]]
    if last.sessions:
        faults.append(f"{last.sessions} sessions are left")
    if last.descriptors > first.descriptors + 3 * max(0, last.workers - first.workers) + 2:
        faults.append(f"descriptors grew from {first.descriptors} to {last.descriptors}")
    if last.server_mb - early.server_mb > _GROWTH_MB:
        faults.append(f"memory grew from {early.server_mb:.0f} to {last.server_mb:.0f} MiB")
    for fault in faults:
        print(f"FAULT: {fault}")
    print(f"{world}: {soak.episodes} episodes; {'in order' if not faults else 'NOT in order'}")
    return not faults


def main() -> None:
    """Run the soak; the exit code tells whether everything was in order."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="length, for each kind of server")
    parser.add_argument("--worlds", nargs="+", default=["async", "thread", "process"], help="kinds of servers")
    parser.add_argument("--seed", type=int, default=0, help="of what is left to chance")
    parser.add_argument("--chart", type=Path, help="SVG file to draw; the kind of server is put into its name")
    given = parser.parse_args()
    orderly = [_soak(world, given.minutes, given.seed, given.chart) for world in given.worlds]
    sys.exit(0 if all(orderly) else 1)


if __name__ == "__main__":
    main()
