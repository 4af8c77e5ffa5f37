"""A process that is forked while a client plays: the game goes on in the parent, and the child gets its own."""

import asyncio
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openenv_core.errors import SessionLostError
from tests.process.places import AsyncCount, Count, Place, alive, batch, replayed, serving
from tests.process.worlds import CountAction

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server."""
    with serving("thread", tmp_path_factory.mktemp("place"), MAX_CONCURRENT_ENVS=8) as found:
        yield found


def in_a_fork(work: Callable[[], None], trouble: Path) -> None:
    """Run something in a forked process, and wait for its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - what pytest would show, it can only be told
            trouble.write_text(traceback.format_exc())
        finally:
            os._exit(0)
    deadline = time.monotonic() + 40
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert not trouble.exists(), trouble.read_text()


def test_a_blocking_client(place: Place, tmp_path: Path) -> None:
    def fork() -> None:
        with pytest.raises(SessionLostError, match="forked") as lost:
            client.step(CountAction(add=9))
        assert lost.value.reason == "disconnected"
        assert client.reset(seed=8).observation.value == replayed(8, [])[0]
        assert client.step(CountAction(add=1)).observation.value == replayed(8, [1])[-1]
        client.close()

    with Count(place.base_url) as client:
        client.reset(seed=5)
        client.step(CountAction(add=1))
        in_a_fork(fork, tmp_path / "trouble")
        assert client.step(CountAction(add=2)).observation.value == replayed(5, [1, 2])[-1]


@pytest.mark.parametrize("way", ["close", "forget", "nothing"])
def test_a_child_that_does_not_play_ends_nothing(place: Place, tmp_path: Path, way: str) -> None:
    def fork() -> None:
        if way == "close":
            clients[0].close()
        elif way == "forget":
            clients.clear()

    clients = [Count(place.base_url)]
    clients[0].reset(seed=5)
    in_a_fork(fork, tmp_path / "trouble")
    assert clients[0].step(CountAction(add=2)).observation.value == replayed(5, [2])[-1]
    clients[0].close()


def test_a_batch(place: Place, tmp_path: Path) -> None:
    def fork() -> None:
        with pytest.raises(SessionLostError, match="forked"):
            several.step([CountAction(add=9)] * 2)
        results = several.reset(seeds=[1, 2])
        assert [result.observation.value for result in results] == [replayed(seed, [])[0] for seed in (1, 2)]
        several.close()

    with batch(place.base_url, 2) as several:
        several.reset(seeds=[3, 4])
        in_a_fork(fork, tmp_path / "trouble")
        results = several.step([CountAction(add=2)] * 2)
        assert [result.observation.value for result in results] == [replayed(seed, [2])[-1] for seed in (3, 4)]


def test_an_awaiting_client(place: Place, tmp_path: Path) -> None:
    async def in_the_child(client: AsyncCount) -> None:
        with pytest.raises(SessionLostError, match="forked"):
            await client.step(CountAction(add=9))
        result = await client.reset(seed=8)
        assert result.observation.value == replayed(8, [])[0]
        await client.close()

    def fork(client: AsyncCount) -> None:
        asyncio._set_running_loop(None)  # as in a child of multiprocessing, which begins anew
        asyncio.run(in_the_child(client))

    async def play() -> None:
        async with AsyncCount(place.base_url) as client:
            await client.reset(seed=5)
            in_a_fork(lambda: fork(client), tmp_path / "trouble")
            result = await client.step(CountAction(add=2))
            assert result.observation.value == replayed(5, [2])[-1]

    asyncio.run(play())


def test_what_an_environment_forks_keeps_nothing_of_a_server_that_has_died(tmp_path: Path) -> None:
    with serving("thread", tmp_path) as place:
        children: list[int] = []
        try:
            with Count(place.base_url, reconnect_timeout_s=0.1) as client, socket.socket() as waiting:
                client.reset(seed=5)
                # Connected, and not a word said: it has to hear of the end by itself.
                waiting.connect(("127.0.0.1", place.server.port))
                assert client.step(CountAction(add=1, trouble="fork")).observation.value == replayed(5, [1])[-1]
                children += [entry["child"] for entry in place.journal.entries("fork")]
                assert client.step(CountAction(add=2)).observation.value == replayed(5, [1, 2])[-1]
                place.server.kill()
                waiting.settimeout(20)
                assert not received(waiting)
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", place.server.port), timeout=20).close()
                assert alive(children[0])
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)


def received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1)
    except ConnectionResetError:
        return b""
