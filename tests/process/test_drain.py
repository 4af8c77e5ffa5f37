"""How a server begins and ends: what its health says, and what its clients are told."""

import asyncio
import contextlib
import json
import signal
import threading
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from benchmarks.processes import free_port
from openenv_core.errors import CapacityReachedError, ConnectionFailedError, SessionLostError
from tests.process.places import AsyncCount, Count, Place, alive, batch, children, health, serving
from tests.process.worlds import CountAction
from tests.support.waiting import eventually


def ended(place: Place) -> bool:
    """Whether the server's process is gone."""
    return place.server.process.poll() is not None


@pytest.mark.parametrize("world", ["async", "thread", "process"])
def test_a_server_that_is_told_to_end_lets_calls_finish_and_tells_everybody(world: str, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(serving(world, tmp_path, OPENENV_DRAIN_GRACE_S=10))
        runner = stack.enter_context(asyncio.Runner())
        workers = children(place.pid)
        idle, busy, awaiting = Count(place.base_url), Count(place.base_url), AsyncCount(place.base_url)
        several = batch(place.base_url, 3)
        idle.reset()
        busy.reset(tag="busy")
        several.reset()
        runner.run(awaiting.reset())
        v1 = stack.enter_context(connect("ws" + place.base_url.removeprefix("http") + "/ws", proxy=None))
        v1.send(json.dumps({"type": "reset", "data": {}}))
        v1.recv(timeout=10)
        counts: list[int] = []
        running = threading.Thread(target=lambda: counts.append(busy.step(CountAction(sleep_s=1.5)).observation.count))
        running.start()
        eventually(lambda: place.journal.entries("sleep", tag="busy"))
        place.server.process.send_signal(signal.SIGTERM)
        eventually(lambda: health(place.base_url) == (503, {"status": "draining"}), limit_s=5)
        with pytest.raises((CapacityReachedError, ConnectionFailedError)):
            Count(place.base_url).reset()
        running.join(15)
        assert counts == [1], "the call that was running has finished"
        eventually(lambda: ended(place))
        assert place.server.process.returncode == 0
        for client in (idle, busy):
            with pytest.raises(SessionLostError) as lost:
                client.step(CountAction())
            assert lost.value.reason == "shutdown"
        with pytest.raises(SessionLostError) as lost:
            runner.run(awaiting.step(CountAction()))
        assert lost.value.reason == "shutdown"
        results = several.step([CountAction()] * 3, return_exceptions=True)
        assert [getattr(result, "reason", result) for result in results] == ["shutdown"] * 3
        assert json.loads(v1.recv(timeout=10))["type"] == "error"
        with pytest.raises(ConnectionClosed) as closed:
            v1.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.reason == "shutdown"
        place.journal.check_all_closed()
        assert not any(alive(pid) for pid in workers)


@pytest.mark.parametrize("world", ["async", "thread", "process"])
def test_a_call_that_outlasts_the_grace_does_not_hold_up_the_end(world: str, tmp_path: Path) -> None:
    with serving(world, tmp_path, OPENENV_DRAIN_GRACE_S=0.5) as place:
        client = Count(place.base_url, reconnect_timeout_s=0.5)
        client.reset()
        reasons: list[str] = []
        running = threading.Thread(target=lambda: reasons.append(_reason(client)))
        running.start()
        eventually(lambda: place.journal.entries("sleep"))
        place.server.process.send_signal(signal.SIGTERM)
        eventually(lambda: ended(place), limit_s=12)
        running.join(15)
        assert reasons == ["shutdown"]


def _reason(client: Count) -> str:
    with pytest.raises(SessionLostError) as lost:
        client.step(CountAction(sleep_s=40.0))
    return lost.value.reason


def test_a_server_that_can_build_nothing_says_so(tmp_path: Path) -> None:
    with serving("thread", tmp_path, OPENENV_TEST_BUILD_FAILS=3) as place:
        assert health(place.base_url) == (200, {"status": "healthy"})
        for _ in range(3):
            with pytest.raises(Exception, match="failed to create instance"):
                Count(place.base_url).connect()
        assert health(place.base_url) == (503, {"status": "unhealthy"})
        with Count(place.base_url) as client:
            client.reset()
            assert health(place.base_url) == (200, {"status": "healthy"}), "one that succeeds ends that"


def test_a_server_says_that_it_starts_and_lets_clients_wait(tmp_path: Path) -> None:
    port, gate = free_port(), tmp_path / "gate"
    url = f"http://127.0.0.1:{port}"
    counts: list[int] = []

    def watch() -> None:
        eventually(lambda: health(url) == (503, {"status": "starting"}), limit_s=50)
        threading.Timer(0.3, gate.touch).start()
        with Count(url) as client:
            client.reset()
            counts.append(client.step(CountAction()).observation.count)

    watching = threading.Thread(target=watch)
    watching.start()
    with serving("process", tmp_path, port=port, OPENENV_TEST_IMPORT_GATE=gate) as place:
        assert health(url) == (200, {"status": "healthy"})
        watching.join(30)
        assert counts == [1]
        place.wait_until_free()
