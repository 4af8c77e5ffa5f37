"""What the tests of this folder share: servers of the counting worlds, their journal, and what the system says."""

import contextlib
import json
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect

from benchmarks.processes import ServerProcess, source_path, spawn
from openenv_core.client import AsyncEnvClient, BatchClient, EnvClient
from openenv_core.environment import EnvironmentSpec
from openenv_core.wire.frames import SUBPROTOCOL
from tests.process import worlds
from tests.process.worlds import CountAction, CountObservation, CountState
from tests.support.serving import Served
from tests.support.serving import serving as serving_in_thread
from tests.support.waiting import eventually

__all__ = [
    "EXECUTIONS",
    "AsyncCount",
    "Count",
    "CountBatch",
    "Here",
    "Journal",
    "Place",
    "active",
    "alive",
    "batch",
    "children",
    "descriptors",
    "health",
    "here",
    "replayed",
    "resident_mb",
    "serving",
    "threads",
]

EXECUTIONS = ("inline", "async", "thread", "process", "async_process")
"""Names of the worlds, as ``tests.process.worlds:<name>_spec``."""


class Count(EnvClient[CountAction, CountObservation, CountState]):
    """A blocking client."""

    action_type, observation_type, state_type = CountAction, CountObservation, CountState


class AsyncCount(AsyncEnvClient[CountAction, CountObservation, CountState]):
    """An awaiting client."""

    action_type, observation_type, state_type = CountAction, CountObservation, CountState


CountBatch = BatchClient[CountAction, CountObservation, CountState]


def batch(base_url: str, sessions: int, **arguments: Any) -> CountBatch:
    """A batch client."""
    return Count.batch(base_url, sessions, **arguments)


@dataclass(frozen=True)
class Journal:
    """What the worlds of a server have written down."""

    path: Path

    def entries(self, *events: str, **matching: Any) -> list[dict[str, Any]]:
        """The lines of some kinds, in order."""
        if not self.path.exists():
            return []
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        return [e for e in found if e["event"] in events and all(e.get(k) == v for k, v in matching.items())]

    def adds(self, tag: str) -> list[int]:
        """What was added in the episode of that tag, step by step, as it was executed."""
        return [entry["add"] for entry in self.entries("step", tag=tag)]

    def check_all_closed(self, *, at_most_lost: int = 0) -> None:
        """Every world was closed once, in the process and the thread where it was built."""
        opened = {entry["world"]: (entry["pid"], entry["thread"]) for entry in self.entries("open")}
        closed = [(entry["world"], (entry["pid"], entry["thread"])) for entry in self.entries("close")]
        assert len(closed) == len(dict(closed)), "a world was closed twice"
        assert all(opened[world] == place for world, place in closed), "a world was closed in another place"
        assert len(opened) - len(closed) <= at_most_lost, f"{len(opened) - len(closed)} worlds were not closed"


@dataclass(frozen=True)
class Place:
    """A server of a counting world."""

    server: ServerProcess
    journal: Journal

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return self.server.base_url

    @property
    def port(self) -> int:
        """Its port."""
        return self.server.port

    @property
    def pid(self) -> int:
        """Its process."""
        return self.server.process.pid

    def wait_until_free(self, limit_s: float = 15.0) -> None:
        """Wait until no slot is in use."""
        eventually(lambda: active(self.base_url) == 0, limit_s=limit_s)


@dataclass(frozen=True)
class Here:
    """A server of a counting world in a thread of this process: quicker to start, and as real."""

    served: Served
    journal: Journal

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return self.served.base_url

    @property
    def port(self) -> int:
        """Its port."""
        return self.served.port

    def wait_until_free(self, limit_s: float = 15.0) -> None:
        """Wait until no slot is in use."""
        eventually(lambda: self.served.active == 0, limit_s=limit_s)


@contextlib.contextmanager
def here(world: str, folder: Path, *, build_s: float = 0.0, **limits: Any) -> Iterator[Here]:
    """A server in a thread of this process for the length of a ``with`` block.

    Args:
        world: one of ``EXECUTIONS``, or ``lonely_process``.
        folder: where the journal goes.
        build_s: how long a world takes to be built.
        limits: fields of the server's settings.
    """
    journal = Journal(folder / "journal")
    variables = {"OPENENV_TEST_JOURNAL": str(journal.path), "OPENENV_TEST_BUILD_S": str(build_s)}
    spec: EnvironmentSpec = getattr(worlds, f"{world}_spec")
    os.environ.update(variables)
    try:
        with serving_in_thread(spec.factory, CountAction, CountObservation, CountState, limits=limits) as served:
            yield Here(served, journal)
    finally:
        for name in variables:
            del os.environ[name]


def _command(world: str) -> list[str]:
    return [sys.executable, "-m", "openenv_core.cli", "serve", f"tests.process.worlds:{world}_spec", "--port", "{port}"]


@contextlib.contextmanager
def serving(world: str, folder: Path, **settings: object) -> Iterator[Place]:
    """A server process for the length of a ``with`` block.

    Args:
        world: one of ``EXECUTIONS``, or ``lonely_process``.
        folder: where the journal goes.
        settings: environment variables; and ``port``, where it must be a certain one.
    """
    port: Any = settings.pop("port", None)
    journal = Journal(folder / "journal")
    variables = {"PYTHONPATH": source_path(), "OPENENV_TEST_JOURNAL": str(journal.path), "OPENENV_LOG_FORMAT": "text"}
    server = spawn(_command(world), environment={**variables, **{k: str(v) for k, v in settings.items()}}, port=port)
    try:
        yield Place(server, journal)
    finally:
        server.stop()
        server.log.unlink(missing_ok=True)


def replayed(seed: int, adds: list[int]) -> list[int]:
    """The values that a world must show in an episode: after the reset, and after each step."""
    values = [random.Random(seed).randrange(1000)]
    for add in adds:
        values.append((values[-1] * 31 + add) % 1_000_003)
    return values


def active(base_url: str) -> int:
    """Slots in use at a server, as its greeting tells."""
    url = "ws" + base_url.removeprefix("http") + "/ws"
    with connect(url, subprotocols=[SUBPROTOCOL], proxy=None, close_timeout=1) as socket:  # type: ignore[list-item]
        count: int = json.loads(socket.recv(timeout=10))["data"]["capacity"]["active"]
        return count


def health(base_url: str) -> tuple[int, Any]:
    """Status and body of ``/health``; (0, None) where nobody answers."""
    try:
        answer = httpx.get(f"{base_url}/health", timeout=5.0, trust_env=False)
    except httpx.HTTPError:
        return 0, None
    return answer.status_code, answer.json()


def children(pid: int) -> list[int]:
    """The processes that a process has started and not lost, zombies too."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def alive(pid: int) -> bool:
    """Whether a process is there, and not only as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def threads(pid: int) -> int:
    """Number of threads."""
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors(pid: int) -> int:
    """Number of open descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_mb(pid: int) -> float:
    """Memory in use, in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
