"""Processes that are killed at any moment: workers, servers, clients. And clients that are only silent."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmarks.processes import free_port, source_path
from openenv_core.errors import ConnectionFailedError, EnvironmentFactoryError, SessionLostError
from tests.process.conftest import LONG
from tests.process.places import AsyncCount, Count, Place, alive, batch, children, replayed, serving
from tests.process.worlds import CountAction
from tests.support.fault_proxy import FaultProxy
from tests.support.waiting import eventually


class Restless:
    """A client in a thread that plays on and on, checks what it sees, and starts anew whenever its session is lost."""

    def __init__(self, base_url: str, seed: int) -> None:
        self._client = Count(base_url, reconnect_timeout_s=5.0)
        self._rng = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.losses: list[str] = []
        self.errors: list[BaseException] = []
        self.episodes = 0
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._play()
                except SessionLostError as lost:
                    self.losses.append(lost.reason)
                except ConnectionFailedError:
                    self._stop.wait(0.05)  # between two lives of the server
                except EnvironmentFactoryError:
                    self.losses.append("env_crashed")  # its worker was hit while it was built, and the next one, too
            self._client.close()
        except BaseException as error:  # noqa: BLE001 - raised in finish(), in the thread of the test
            self.errors.append(error)

    def _play(self) -> None:
        seed, adds = self._rng.randrange(10**6), [self._rng.randrange(100) for _ in range(8)]
        seen = [self._client.reset(seed=seed).observation.value]
        seen += [self._client.step(CountAction(add=add, sleep_s=0.005)).observation.value for add in adds]
        assert seen == replayed(seed, adds)
        self.episodes += 1

    def finish(self) -> None:
        """Stop, and raise what went wrong."""
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()
        for error in self.errors:
            raise error


def test_workers_that_are_killed_are_replaced(tmp_path: Path) -> None:
    rng = random.Random("workers")
    limits = {"MAX_CONCURRENT_ENVS": 6, "OPENENV_SESSIONS_PER_WORKER": 2}
    with serving("process", tmp_path, **limits) as place:
        players = [Restless(place.base_url, seed) for seed in range(6)]
        eventually(lambda: all(player.episodes for player in players))
        for _ in range(50 if LONG else 5):
            time.sleep(rng.uniform(0.0, 0.4))
            workers = children(place.pid)
            if workers:
                os.kill(rng.choice(workers), signal.SIGKILL)
        before = [player.episodes for player in players]
        eventually(lambda: all(p.episodes > n for p, n in zip(players, before, strict=True)), limit_s=30)
        for player in players:
            player.finish()
            assert set(player.losses) <= {"env_crashed"}
        assert any(player.losses for player in players)
        place.wait_until_free()
        eventually(lambda: len(children(place.pid)) <= 4)
        assert all(alive(pid) for pid in children(place.pid))


def test_servers_that_are_killed_are_found_again(tmp_path: Path) -> None:
    rng = random.Random("servers")
    port = free_port()
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(serving("thread", tmp_path, port=port))
        players = [Restless(place.base_url, seed) for seed in range(3)]
        calm, several, runner = Count(place.base_url), batch(place.base_url, 2), stack.enter_context(asyncio.Runner())
        awaiting = AsyncCount(place.base_url)
        for _ in range(50 if LONG else 2):
            calm.reset()
            runner.run(awaiting.reset())
            several.reset()
            time.sleep(rng.uniform(0.0, 0.5))
            place.server.kill()
            place = stack.enter_context(serving("thread", tmp_path, port=port))
            _check_lost(calm, awaiting, several, runner)
        before = [player.episodes for player in players]
        eventually(lambda: all(p.episodes > n for p, n in zip(players, before, strict=True)), limit_s=30)
        for player in players:
            player.finish()
            assert set(player.losses) <= {"server_restarted", "disconnected"}
        calm.close()
        several.close()
        runner.run(awaiting.close())
        place.wait_until_free()


def _check_lost(calm: Count, awaiting: AsyncCount, several: object, runner: asyncio.Runner) -> None:
    for _ in range(2):
        with pytest.raises(SessionLostError) as lost:
            calm.step(CountAction())
        assert lost.value.reason == "server_restarted"
        with pytest.raises(SessionLostError) as lost:
            runner.run(awaiting.step(CountAction()))
        assert lost.value.reason == "server_restarted"
        results = several.step([CountAction()] * 2, return_exceptions=True)  # type: ignore[attr-defined]
        assert [getattr(result, "reason", result) for result in results] == ["server_restarted"] * 2


PROGRAM = """
import sys, threading
from tests.process.places import AsyncCount, Count, batch
from tests.process.worlds import CountAction
def play(client):
    while True:
        client.reset()
        for _ in range(20):
            client.step(CountAction(sleep_s=0.002))
def play_batch():
    client = batch(sys.argv[1], 3)
    while True:
        client.reset()
        for _ in range(20):
            client.step([CountAction()] * 3)
threads = [threading.Thread(target=play, args=(Count(sys.argv[1]),)) for _ in range(3)]
threads.append(threading.Thread(target=play_batch))
for thread in threads:
    thread.start()
print("playing", flush=True)
"""


@pytest.mark.parametrize("world", ["thread", "process"])
def test_clients_that_are_killed_leave_nothing(world: str, tmp_path: Path) -> None:
    rng = random.Random(f"clients of {world}")
    limits = {"OPENENV_RESUME_GRACE_S": 0.5, "OPENENV_SESSIONS_PER_WORKER": 3, "MAX_CONCURRENT_ENVS": 6}
    with serving(world, tmp_path, **limits) as place:
        for _ in range(50 if LONG else 2):
            _kill_a_client(place, rng.uniform(0.0, 1.0))
            place.wait_until_free()
            place.journal.check_all_closed()


def _kill_a_client(place: Place, after_s: float) -> None:
    command = [sys.executable, "-c", PROGRAM, place.base_url]
    environment = {**os.environ, "PYTHONPATH": source_path()}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"playing"
        time.sleep(after_s)
        process.kill()


@pytest.mark.parametrize("world", ["inline", "process"])
def test_many_clients_do_not_meet(world: str, tmp_path: Path) -> None:
    with serving(world, tmp_path, MAX_CONCURRENT_ENVS=64, OPENENV_SESSIONS_PER_WORKER=16) as place:
        clients = [Count(place.base_url) for _ in range(64)]
        errors: list[BaseException] = []

        def play(own: list[tuple[int, Count]]) -> None:
            try:
                for number, client in own:
                    client.reset(seed=number, tag=f"client {number}")
                expected = {number: replayed(number, [number] * 50) for number, _ in own}
                for step in range(1, 51):
                    for number, client in own:
                        seen = client.step(CountAction(add=number)).observation
                        assert (seen.count, seen.value) == (step, expected[number][step])
                for number, client in own:
                    assert client.state().count == 50, number
            except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
                errors.append(error)

        numbered = list(enumerate(clients))
        threads = [threading.Thread(target=play, args=[numbered[start::8]]) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            raise error
        assert len({client.state().world for client in clients}) == 64
        for client in clients:
            client.close()


SHORT = {"OPENENV_PING_INTERVAL_S": 0.5, "OPENENV_PING_TIMEOUT_S": 2.0}


def test_a_blocking_client_may_be_silent(tmp_path: Path) -> None:
    with serving("thread", tmp_path, **SHORT) as place, FaultProxy(place.server.port) as proxy:
        client = Count(proxy.base_url, websocket_ping_interval_s=0.5, websocket_ping_timeout_s=2.0)
        client.reset()
        time.sleep(6.0)  # longer than either side waits for an answer to a ping
        assert client.step(CountAction()).observation.count == 1
        assert proxy.accepted == 1, "the connection was kept alive"
        client.close()


def test_an_awaiting_client_may_block_its_own_loop(tmp_path: Path) -> None:
    async def play(base_url: str) -> int:
        async with AsyncCount(base_url, websocket_ping_interval_s=0.5, websocket_ping_timeout_s=2.0) as client:
            await client.reset()
            time.sleep(6.0)  # noqa: ASYNC251 - that is what is tried
            return (await client.step(CountAction())).observation.count

    with serving("thread", tmp_path, **SHORT) as place:
        assert asyncio.run(play(place.base_url)) == 1


@pytest.mark.slow
def test_a_minute_of_silence_is_nothing_with_the_settings_as_they_come(tmp_path: Path) -> None:
    async def block(base_url: str) -> int:
        async with AsyncCount(base_url) as client:
            await client.reset()
            time.sleep(60.0)  # noqa: ASYNC251 - that is what is tried
            return (await client.step(CountAction())).observation.count

    with serving("thread", tmp_path) as place:
        with Count(place.base_url) as client:
            client.reset()
            counts: list[int] = []
            blocking = threading.Thread(target=lambda: counts.append(asyncio.run(block(place.base_url))))
            blocking.start()
            time.sleep(61.0)
            assert client.step(CountAction()).observation.count == 1
            blocking.join()
        assert counts == [1]
