"""Environments in worker processes: what a bad one costs, and whom."""

import functools
import importlib.util
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openenv_core.environment import Environment
from openenv_core.errors import (
    ConcurrencyConfigurationError,
    ConfigurationError,
    EnvironmentFailedError,
    SessionLostError,
)
from openenv_core.server import create_app
from openenv_core.settings import ServerSettings
from tests.process.places import Count, Place, alive, children, here, replayed, serving
from tests.process.worlds import CountAction, CountObservation, CountState, LonelyProcessWorld, ThreadWorld, Trouble
from tests.support.serving import serving as in_this_process
from tests.support.waiting import eventually

LIMITS = {"OPENENV_SESSIONS_PER_WORKER": 2, "OPENENV_WORKER_MEMORY_MB": 600, "OPENENV_STEP_DEADLINE_S": 3}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server whose workers hold two sessions each."""
    with serving("process", tmp_path_factory.mktemp("place"), MAX_CONCURRENT_ENVS=4, **LIMITS) as found:
        yield found


def neighbours(place: Place) -> tuple[Count, Count, Count]:
    """Three clients: the first two share a worker process."""
    clients = [Count(place.base_url) for _ in range(4)]
    for seed, client in enumerate(clients):
        client.reset(seed=seed)
    pids = [client.state().pid for client in clients]
    assert len(set(pids)) == 2, "four sessions, two to a worker"
    first = [client for client, pid in zip(clients, pids, strict=True) if pid == pids[0]]
    other, spare = (client for client, pid in zip(clients, pids, strict=True) if pid != pids[0])
    spare.close()
    return first[0], first[1], other


@pytest.mark.parametrize("trouble", ["exit", "crash", "eat", ""])
def test_a_crash_costs_the_sessions_of_its_worker_only(place: Place, trouble: Trouble) -> None:
    guilty, neighbour, other = neighbours(place)
    pid = guilty.state().pid
    if not trouble:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(SessionLostError) as lost:
        guilty.step(CountAction(trouble=trouble))
    assert lost.value.reason == "env_crashed"
    with pytest.raises(SessionLostError) as lost:
        neighbour.step(CountAction())
    assert lost.value.reason == "env_crashed"
    assert other.step(CountAction(add=5)).observation.count == 1
    assert not alive(pid)
    for healed in (guilty, neighbour):
        assert healed.reset(seed=3).observation.count == 0
        assert healed.step(CountAction()).observation.count == 1
    for client in (guilty, neighbour, other):
        client.close()
    place.wait_until_free()


def test_what_holds_the_interpreter_is_ended_at_the_deadline(place: Place) -> None:
    guilty, neighbour, other = neighbours(place)
    pid = guilty.state().pid
    with pytest.raises(SessionLostError) as lost:
        guilty.step(CountAction(trouble="hold"))
    assert lost.value.reason == "step_deadline"
    with pytest.raises(SessionLostError) as lost:
        neighbour.step(CountAction())
    assert lost.value.reason == "env_crashed"
    assert other.step(CountAction()).observation.count == 1
    eventually(lambda: not alive(pid))
    for client in (guilty, neighbour, other):
        client.close()
    place.wait_until_free()


def test_what_only_loops_is_let_go_and_its_neighbour_plays_on(place: Place) -> None:
    guilty, neighbour, other = neighbours(place)
    pid = guilty.state().pid
    with pytest.raises(SessionLostError) as lost:
        guilty.step(CountAction(trouble="spin"), timeout_s=0.5)
    assert lost.value.reason == "step_deadline"
    assert [neighbour.step(CountAction()).observation.count for _ in range(3)] == [1, 2, 3]
    neighbour.close()
    eventually(lambda: not alive(pid))  # nobody is left whom the end of that process would harm
    for client in (guilty, other):
        client.close()
    place.wait_until_free()


def test_an_idle_session_learns_of_the_crash_before_it_asks(place: Place) -> None:
    with Count(place.base_url) as client:
        client.reset()
        os.kill(client.state().pid, signal.SIGKILL)
        place.wait_until_free()
        with pytest.raises(SessionLostError) as lost:
            client.step(CountAction())
        assert lost.value.reason == "env_crashed"


def test_exceptions_arrive_and_the_session_goes_on(place: Place) -> None:
    with Count(place.base_url) as client:
        client.reset()
        with pytest.raises(EnvironmentFailedError, match="trouble was asked for") as failed:
            client.step(CountAction(trouble="raise"))
        log = place.server.log.read_text()
        assert failed.value.details["error_id"] in log
        assert 'RuntimeError("trouble was asked for")' in log, "the traceback of the worker belongs into the log"
        with pytest.raises(EnvironmentFailedError, match="SystemExit: 5"):
            client.step(CountAction(trouble="sys_exit"))
        assert client.step(CountAction()).observation.count == 1


def test_what_an_environment_prints_is_in_the_log(place: Place) -> None:
    with Count(place.base_url) as client:
        client.reset()
        client.step(CountAction(trouble="print"))
    eventually(lambda: "said by the environment" in place.server.log.read_text())
    assert "complained by the environment" in place.server.log.read_text()


def test_sessions_of_one_worker_do_not_wait_for_each_other(place: Place) -> None:
    slow, quick, other = neighbours(place)
    slow.reset(tag="slow")
    quick.reset(tag="quick")
    running = threading.Thread(target=slow.step, args=[CountAction(sleep_s=2.0)])
    running.start()
    while running.is_alive():
        quick.step(CountAction())
    running.join()
    tags = [entry["tag"] for entry in place.journal.entries("step") if entry["tag"]]
    assert tags.index("quick") < tags.index("slow"), "a step that took two seconds held up another session's"
    for client in (slow, quick, other):
        client.close()


def test_worlds_that_must_be_alone_have_a_process_each(tmp_path: Path) -> None:
    with here("lonely_process", tmp_path, max_sessions=3, sessions_per_worker=8) as place:
        clients = [Count(place.base_url) for _ in range(3)]
        for client in clients:
            client.reset()
        assert len({client.state().pid for client in clients} | {os.getpid()}) == 4
        for client in clients:
            client.close()


@pytest.mark.parametrize("busy", ["", "hold"])
def test_no_worker_outlives_its_server(tmp_path: Path, busy: Trouble) -> None:
    with serving("process", tmp_path, MAX_CONCURRENT_ENVS=4, OPENENV_SESSIONS_PER_WORKER=2) as place:
        client = Count(place.base_url, reconnect_timeout_s=0.1)
        client.reset()
        workers = children(place.pid)
        assert len(workers) >= 2, "one at work and one spare"
        if busy:
            threading.Thread(target=_step_into, args=[client, busy], daemon=True).start()
            eventually(lambda: _is_at_work(client, place))
        place.server.kill()
        eventually(lambda: not any(alive(pid) for pid in workers))


def make_world() -> Environment[Any, Any, Any]:
    """A factory of which only its worlds can tell what they are."""
    return LonelyProcessWorld()


def test_a_factory_that_cannot_travel_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cloudpickle" else find_spec(name))
    settings = ServerSettings(max_sessions=2, execution="process")
    with pytest.raises(ConfigurationError, match="cannot be sent to worker processes") as refused:
        create_app(lambda: ThreadWorld(), CountAction, CountObservation, settings=settings)
    assert "define it in a module that they can import, or install cloudpickle" in refused.value.message


def test_worlds_that_must_be_alone_may_be_many_in_processes_only() -> None:
    create_app(LonelyProcessWorld, CountAction, CountObservation, max_concurrent_envs=8)
    threads = ServerSettings(execution="thread")
    with pytest.raises(ConcurrencyConfigurationError, match='execution = "process"'):
        create_app(LonelyProcessWorld, CountAction, CountObservation, max_concurrent_envs=8, settings=threads)


@pytest.mark.parametrize(
    "factory",
    [make_world, functools.partial(LonelyProcessWorld), pytest.param(lambda: LonelyProcessWorld(), id="cloudpickle")],
)
def test_factories_of_every_kind_travel(factory: Callable[[], Any]) -> None:
    models = CountAction, CountObservation, CountState
    with in_this_process(factory, *models, limits={"execution": "process"}) as served:
        client, other = Count(served.base_url), Count(served.base_url)
        client.reset(seed=4)
        other.reset(seed=4)
        assert client.step(CountAction(add=3)).observation.value == replayed(4, [3])[1]
        assert len({os.getpid(), client.state().pid, other.state().pid}) == 3
        client.close()
        other.close()


def test_processor_time_is_limited(tmp_path: Path) -> None:
    with here("process", tmp_path, worker_cpu_s=3) as place:
        client = Count(place.base_url)
        client.reset()
        with pytest.raises(SessionLostError, match="processor time") as lost:
            client.step(CountAction(trouble="spin"))
        assert lost.value.reason == "env_crashed"
        client.reset()
        client.close()


def _step_into(client: Count, trouble: Trouble) -> None:
    with pytest.raises(SessionLostError):
        client.step(CountAction(trouble=trouble))


def _is_at_work(client: Count, place: Place) -> bool:
    before = sum(_cpu_ticks(pid) for pid in children(place.pid))
    time.sleep(0.2)
    return sum(_cpu_ticks(pid) for pid in children(place.pid)) - before > 5


def _cpu_ticks(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
