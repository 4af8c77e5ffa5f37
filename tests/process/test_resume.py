"""The core promise: whatever happens to connections, every step is executed once, and what is lost is lost loudly."""

import json
import random
from pathlib import Path

import pytest
from websockets.sync.client import connect

from openenv_core.errors import SessionLostError, UnauthorizedError
from openenv_core.wire.calls import Opened
from tests.process.places import Count, batch, here, serving
from tests.process.players import check_executed_once, disturbed, play_all
from tests.process.worlds import CountAction
from tests.support.fault_proxy import Direction, FaultProxy
from tests.support.waiting import eventually


@pytest.mark.parametrize("world", ["inline", "thread", "process"])
def test_under_any_faults_everything_is_as_without(world: str, tmp_path: Path, rounds: int) -> None:
    rng = random.Random(f"faults of {world}")
    limits = {"OPENENV_PING_INTERVAL_S": 0.3, "OPENENV_PING_TIMEOUT_S": 0.7, "OPENENV_RESUME_GRACE_S": 12}
    with serving(world, tmp_path, MAX_CONCURRENT_ENVS=24, **limits) as place, FaultProxy(place.port) as proxy:
        with disturbed(proxy, rng):
            episodes = play_all(proxy.base_url, 24 * rounds, 6, rng)
        assert proxy.accepted > 10, "there were faults"
        check_executed_once(place.journal, episodes)
        place.wait_until_free(30)  # who closed while the connection was broken could not say so: the grace ends that
        place.journal.check_all_closed()


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("step", ["running", "over"])
def test_a_step_whose_answer_is_lost_is_not_run_again(direction: Direction, step: str, tmp_path: Path) -> None:
    with here("thread", tmp_path) as place, FaultProxy(place.port) as proxy, Count(proxy.base_url) as client:
        client.reset(seed=1, tag="one")
        proxy.cut_after(0, direction)
        assert client.step(CountAction(sleep_s=0.5 if step == "running" else 0.0)).observation.count == 1
        assert client.step(CountAction()).observation.count == 2
        assert place.journal.adds("one") == [1, 1]
        assert proxy.accepted == 2


def test_a_session_is_resumed_with_its_secret_by_its_caller_only(tmp_path: Path) -> None:
    secret = "a-token-of-this-server"
    with serving("inline", tmp_path, OPENENV_TOKEN=secret, OPENENV_LOG_LEVEL="debug") as place:
        with FaultProxy(place.port) as proxy, Count(proxy.base_url, token=secret) as owner:
            owner.reset()
            held = owner._flow._opened
            assert held is not None
            thief = Count(place.base_url, token=secret)
            thief.connect()
            thief._flow._opened = Opened(held.session, "x" * len(held.token))
            thief._driver.drop()
            with pytest.raises(UnauthorizedError):
                thief.step(CountAction())
            proxy.cut()
            assert owner.step(CountAction()).observation.count == 1, "the owner is not disturbed by that"
        log = place.server.log.read_text()
        assert held.token not in log
        assert secret not in log


def test_a_session_without_a_secret_ends_with_its_connection_at_once(tmp_path: Path) -> None:
    with here("thread", tmp_path, max_sessions=1) as place, FaultProxy(place.port) as proxy:
        with connect("ws" + proxy.base_url.removeprefix("http") + "/ws", proxy=None) as v1:
            v1.send(json.dumps({"type": "reset", "data": {}}))
            v1.recv(timeout=10)
            proxy.cut()
            place.wait_until_free()
        place.journal.check_all_closed()
        with Count(place.base_url) as client:
            client.reset()


def test_what_cannot_be_mended_is_lost_and_a_reset_heals_it(tmp_path: Path) -> None:
    with here("thread", tmp_path, resume_grace_s=0.5) as place, FaultProxy(place.port) as proxy:
        client = Count(proxy.base_url, reconnect_timeout_s=1.0)
        several = batch(proxy.base_url, 2, reconnect_timeout_s=1.0)
        client.reset(seed=1)
        several.reset([1, 2])
        proxy.refuses = True
        proxy.cut()
        for _ in range(2):
            with pytest.raises(SessionLostError) as lost:
                client.step(CountAction())
            assert lost.value.reason == "disconnected"
            results = several.step([CountAction()] * 2, return_exceptions=True)
            assert [getattr(result, "reason", result) for result in results] == ["disconnected"] * 2
        place.wait_until_free()
        proxy.refuses = False
        assert client.reset(seed=2).observation.count == 0
        assert client.step(CountAction()).observation.count == 1
        assert [result.observation.count for result in several.reset([3, 4])] == [0, 0]
        assert [result.observation.count for result in several.step([CountAction()] * 2)] == [1, 1]
        client.close()
        several.close()
        place.wait_until_free()
        place.journal.check_all_closed()


def test_a_session_that_waited_too_long_for_its_client_says_so(tmp_path: Path) -> None:
    with here("thread", tmp_path, resume_grace_s=0.5) as place, FaultProxy(place.port) as proxy:
        client = Count(proxy.base_url)
        client.reset(seed=1)
        proxy.cut()
        place.wait_until_free()
        with pytest.raises(SessionLostError) as lost:
            client.step(CountAction())
        assert lost.value.reason == "grace_expired"
        assert client.reset(seed=2).observation.count == 0
        client.close()


def test_large_actions_pass_a_slow_network(tmp_path: Path) -> None:
    with here("thread", tmp_path) as place, FaultProxy(place.port) as proxy, Count(proxy.base_url) as client:
        client.reset(tag="large")
        proxy.bytes_per_s = 4e6
        result = client.step(CountAction(fill="x" * 12_000_000))
        assert len(result.observation.fill) == 12_000_000
        assert proxy.accepted == 1
        assert place.journal.adds("large") == [1]


def test_a_session_in_which_nothing_began_is_not_kept(tmp_path: Path) -> None:
    with here("thread", tmp_path, max_sessions=1) as place, FaultProxy(place.port) as proxy:
        client = Count(proxy.base_url).connect()
        eventually(lambda: place.journal.entries("open"))
        proxy.cut()
        place.wait_until_free()
        assert client.reset(seed=1).observation.count == 0
        client.close()
