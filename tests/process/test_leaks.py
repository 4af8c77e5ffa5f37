"""However a session ends, nothing of it is left: no slot, no thread, no process, no descriptor, no memory."""

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from benchmarks.processes import source_path
from tests.process.conftest import LONG
from tests.process.places import (
    EXECUTIONS,
    AsyncCount,
    Count,
    Place,
    batch,
    children,
    descriptors,
    resident_mb,
    serving,
    threads,
)
from tests.process.worlds import CountAction
from tests.support.fault_proxy import FaultProxy
from tests.support.waiting import eventually, until

LIMITS = {
    "OPENENV_PING_INTERVAL_S": 0.3,
    "OPENENV_PING_TIMEOUT_S": 0.7,
    "OPENENV_RESUME_GRACE_S": 0.5,
    "OPENENV_SESSIONS_PER_WORKER": 2,
}
PATIENT = {"websocket_ping_interval_s": None, "reconnect_timeout_s": 0.5}


class Balance:
    """What a server holds while nobody uses it, and whether it is back to that."""

    def __init__(self, place: Place) -> None:
        self._place = place
        place.wait_until_free()
        self._settled: list[int] = []
        eventually(self._settle, limit_s=30)
        self._before = self._settled
        self._closed = len(place.journal.entries("close"))

    def _holds(self) -> list[int]:
        return [threads(self._place.pid), len(children(self._place.pid)), descriptors(self._place.pid)]

    def _settle(self) -> bool:
        before, self._settled = self._settled, self._holds()
        return before == self._settled

    def check(self, worlds: int = 1) -> None:
        """Everything is as before, and ``worlds`` more have been closed, each once and where it was built."""
        self._place.wait_until_free()
        eventually(lambda: all(now <= then for now, then in zip(self._holds(), self._before, strict=True)), limit_s=30)
        eventually(lambda: len(self._place.journal.entries("close")) == self._closed + worlds)
        self._place.journal.check_all_closed()


@pytest.fixture(scope="module", params=EXECUTIONS if LONG else ("async", "thread", "process"))
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server of each kind, in which every kind of session has been open before."""
    world = str(request.param)
    with serving(world, tmp_path_factory.mktemp(world), MAX_CONCURRENT_ENVS=4, **LIMITS) as found:
        with batch(found.base_url, 4) as clients:
            clients.reset()
            clients.step([CountAction()] * 4)
        yield found


def _close(place: Place) -> None:
    client = Count(place.base_url)
    client.reset()
    client.close()
    client.close()


def _leave_block(place: Place) -> None:
    with Count(place.base_url) as client:
        client.reset()


def _raise_in_block(place: Place) -> None:
    with contextlib.suppress(KeyError), Count(place.base_url) as client:
        client.reset()
        raise KeyError


def _forget(place: Place) -> None:
    client = Count(place.base_url)
    client.reset()
    del client
    gc.collect()


def _forget_awaiting(place: Place) -> None:
    async def play() -> None:
        client = AsyncCount(place.base_url)
        await client.reset()
        del client
        gc.collect()
        await asyncio.sleep(0.1)

    asyncio.run(play())


def _forget_batch(place: Place) -> None:
    several = batch(place.base_url, 3)
    several.reset()
    del several


def _end_the_loop(place: Place) -> None:
    async def play() -> None:
        await AsyncCount(place.base_url).reset()

    asyncio.run(play())
    gc.collect()


def _cancel_a_step(place: Place) -> None:
    async def play() -> None:
        async with AsyncCount(place.base_url) as client:
            await client.reset()
            step = asyncio.create_task(client.step(CountAction(sleep_s=0.3)))
            await asyncio.sleep(0.1)
            step.cancel()
            await asyncio.wait({step})

    asyncio.run(play())


def _cancel_the_opening(place: Place) -> None:
    async def play() -> None:
        client = AsyncCount(place.base_url)
        opening = asyncio.create_task(client.connect())
        await until(lambda: client._line.socket is not None)
        opening.cancel()
        await asyncio.wait({opening})
        await client.close()

    asyncio.run(play())


def _go_half_way(place: Place) -> None:
    with FaultProxy(place.server.port) as proxy:
        client = Count(proxy.base_url, **PATIENT)
        client.reset()
        proxy.freeze()
        place.wait_until_free()
        client._driver.drop()


def _crash_connection(place: Place) -> None:
    with FaultProxy(place.server.port) as proxy:
        client = Count(proxy.base_url, **PATIENT)
        client.reset()
        proxy.cut()
        place.wait_until_free()


PROGRAM = """
import sys, time
from tests.process.places import Count
client = Count(sys.argv[1], websocket_ping_interval_s=None)
client.reset()
print("playing", flush=True)
if sys.argv[2] == "wait":
    time.sleep(60)
"""


def _elsewhere(place: Place, how: str, number: signal.Signals | None) -> None:
    """The same in a process of its own, which ends by itself or by a signal."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, place.base_url, how],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source_path()},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"playing"
        if number is not None:
            process.send_signal(number)
            place.wait_until_free()
            process.kill()


WAYS: dict[str, Callable[[Place], None]] = {
    "close": _close,
    "end of a with block": _leave_block,
    "exception in a with block": _raise_in_block,
    "garbage collection": _forget,
    "garbage collection of an awaiting client": _forget_awaiting,
    "garbage collection of a batch client": _forget_batch,
    "end of an event loop": _end_the_loop,
    "cancelled step": _cancel_a_step,
    "cancelled opening": _cancel_the_opening,
    "half-open connection": _go_half_way,
    "broken connection": _crash_connection,
    "end of the process": lambda place: _elsewhere(place, "end", None),
    "SIGKILL of the client": lambda place: _elsewhere(place, "wait", signal.SIGKILL),
    "SIGSTOP of the client": lambda place: _elsewhere(place, "wait", signal.SIGSTOP),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_nothing_is_left(place: Place, way: str) -> None:
    balance = Balance(place)
    opened = len(place.journal.entries("open"))
    WAYS[way](place)
    place.wait_until_free()
    balance.check(len(place.journal.entries("open")) - opened)


def test_many_sessions_leave_nothing(place: Place) -> None:
    cycles = 2500 if LONG else 60
    _cycle(place, 30)
    balance, before = Balance(place), resident_mb(place.pid)
    workers = [threading.Thread(target=_cycle, args=[place, cycles]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    balance.check(4 * cycles)
    assert resident_mb(place.pid) - before < 12, "so many MiB are not caching any more"


def _cycle(place: Place, cycles: int) -> None:
    for _ in range(cycles):
        client = Count(place.base_url, wait_for_capacity_s=30)
        client.reset(seed=1)
        client.step(CountAction(fill="x" * 10_000))
        client.close()


def test_a_client_of_version_1_that_is_stopped_is_found_out(place: Place) -> None:
    program = (
        "import sys, time\nfrom websockets.sync.client import connect\n"
        "s = connect(sys.argv[1], proxy=None, ping_interval=None, legacy=True)\n"
        f"s.send({json.dumps(json.dumps({'type': 'reset', 'data': {}}))})\n"
        "print('playing' if 'observation' in s.recv() else '', flush=True)\ntime.sleep(60)\n"
    )
    balance = Balance(place)
    url = "ws" + place.base_url.removeprefix("http") + "/ws"
    with subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"playing"
        process.send_signal(signal.SIGSTOP)
        place.wait_until_free()
        process.kill()
    balance.check()


CAREFUL = """
import asyncio, gc, os, sys, threading
from tests.process.places import AsyncCount, Count, batch
from tests.process.worlds import CountAction
from tests.support.waiting import eventually

url = sys.argv[1]

def play():
    with Count(url) as client:
        client.reset()
        client.step(CountAction())
    forgotten = Count(url)
    forgotten.reset()
    forgotten = batch(url, 2)
    forgotten.reset()
    asyncio.run(play_awaiting())

async def play_awaiting():
    async with AsyncCount(url) as client:
        await client.reset()
    forgotten = AsyncCount(url)
    await forgotten.reset()
    del forgotten
    gc.collect()
    await asyncio.sleep(0.05)

def holds():
    return threading.active_count(), len(os.listdir("/proc/self/fd"))

before = holds()
for _ in range(10):
    play()
gc.collect()
# A closed client's connection is kept for the next one; not for long.
eventually(lambda: holds() == before, limit_s=20)
"""


def test_clients_leave_nothing_in_their_own_process(place: Place) -> None:
    environment = {**os.environ, "PYTHONPATH": source_path()}
    subprocess.run([sys.executable, "-c", CAREFUL, place.base_url], env=environment, check=True, timeout=50)
    place.wait_until_free()
