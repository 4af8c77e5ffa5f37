"""The blocking client at a real server."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from openenv_core.errors import (
    CallTimeoutError,
    CapacityReachedError,
    ConfigurationError,
    ConnectionFailedError,
    EpisodeNotStartedError,
    MessageTooLargeError,
    SessionLostError,
    UnknownResetOptionError,
    ValidationFailedError,
)
from tests.support.clients import World, knocks
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.serving import Served, serving
from tests.support.waiting import eventually

MODELS = (Act, Seen, WorldState)


@pytest.fixture
def serve(journal: Journal) -> Iterator[Callable[..., Any]]:
    """Serves the blocking world, with limits."""
    yield lambda port=0, **limits: serving(Factory(journal, BlockingWorld), *MODELS, port=port, limits=limits)
    journal.open_all()


@pytest.fixture
def served(serve: Callable[..., Any]) -> Iterator[Served]:
    with serve() as found:
        yield found


def test_an_episode(served: Served) -> None:
    with World(served.base_url) as world:
        assert served.active == 1
        assert world.session_id in served.gateway.manager.sessions
        started = world.reset(seed=3)
        assert isinstance(started.observation, Seen)
        assert started.observation.seed == 3
        result = world.step(Act(reward=0.5))
        assert (result.reward, result.done, result.observation.steps) == (0.5, False, 1)
        assert isinstance(world.state(), WorldState)
        assert world.step(Act(ends=True)).terminated
    assert served.active == 0


def test_it_connects_when_it_must(served: Served) -> None:
    world = World(served.base_url)
    assert served.gateway.manager.opened == 0
    assert world.reset().observation.steps == 0
    world.close()


def test_errors_arrive_in_their_own_classes_and_cost_nothing(served: Served) -> None:
    with World(served.base_url) as world:
        with pytest.raises(EpisodeNotStartedError):
            world.step(Act())
        world.reset()
        with pytest.raises(UnknownResetOptionError, match="'sede'"):
            world.reset(sede=1)
        with pytest.raises(ValidationFailedError, match="reward"):
            world.step({"reward": "much"})  # type: ignore[arg-type]
        assert world.step(Act()).observation.steps == 1


def test_it_works_inside_a_running_event_loop(served: Served) -> None:
    async def main() -> int:
        with World(served.base_url).sync() as world:
            world.reset()
            return world.step(Act()).observation.steps

    assert asyncio.run(main()) == 1


def test_many_threads_each_with_a_client_of_its_own(served: Served) -> None:
    def episode(number: int) -> list[int]:
        with World(served.base_url) as world:
            world.reset(seed=number)
            return [world.step(Act()).observation.steps for _ in range(25)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(episode, range(4))) == [list(range(1, 26))] * 4


def test_threads_that_share_a_client_never_get_each_other_s_replies(served: Served) -> None:
    with World(served.base_url) as world:
        world.reset()

        def steps(number: int) -> list[tuple[float | None, int]]:
            found = []
            for count in range(50):
                result = world.step(Act(reward=number * 1000 + count))
                found.append((result.reward, result.observation.steps))
            return found

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(steps, range(4)))
        for number, results in enumerate(found):
            assert [reward for reward, _ in results] == [number * 1000 + count for count in range(50)]
        assert sorted(step for results in found for _, step in results) == list(range(1, 201))


def test_a_client_that_is_used_in_another_thread_than_it_was_made_in(served: Served) -> None:
    world = World(served.base_url).connect()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(world.reset).result().observation.steps == 0
    assert world.step(Act()).observation.steps == 1
    world.close()


def test_async_with_gives_the_awaiting_twin(served: Served) -> None:
    async def main() -> int:
        async with World(served.base_url) as world:
            await world.reset()
            return (await world.step(Act())).observation.steps

    assert asyncio.run(main()) == 1
    assert served.active == 0


def test_async_with_is_not_for_a_client_in_use(served: Served) -> None:
    world = World(served.base_url).connect()

    async def main() -> None:
        async with world:
            pass

    with pytest.raises(ConfigurationError, match="in use already"):
        asyncio.run(main())
    world.close()


def test_a_new_session_is_another_one(served: Served) -> None:
    with World(served.base_url) as first, first.new_session() as second:
        first.reset()
        second.reset()
        first.step(Act())
        assert second.step(Act()).observation.steps == 1
        assert first.session_id != second.session_id


def test_close_never_connects(serve: Callable[..., Any]) -> None:
    with knocks() as door:
        world = World(door.base_url)
        world.close()
        world.close()
        world.disconnect()
        del world
        gc.collect()
        assert door.count() == 0
    with serve() as served:
        lost, unlucky = World(served.base_url), World(served.base_url)
        lost.reset()
        unlucky.reset()
        port = served.port
    with knocks(port) as door:
        lost.close()
        lost.close()
        with pytest.raises(SessionLostError):
            unlucky.step(Act())
        door.count()
        unlucky.close()
        assert door.count() == 0


def test_a_closed_client_says_so_until_it_is_reset(served: Served) -> None:
    world = World(served.base_url)
    world.reset()
    world.close()
    world.close()
    assert served.active == 0
    for _ in range(2):
        with pytest.raises(SessionLostError, match="closed") as caught:
            world.step(Act())
        assert caught.value.reason == "closed"
    assert served.gateway.manager.opened == 1
    assert world.reset().observation.steps == 0
    world.close()


def test_a_server_that_goes_is_a_lost_session_and_one_that_comes_back_is_a_new_one(serve: Callable[..., Any]) -> None:
    with serve() as served:
        world = World(served.base_url, reconnect_timeout_s=0.2)
        world.reset()
        world.step(Act())
        port = served.port
    for _ in range(2):
        with pytest.raises(SessionLostError) as caught:
            world.step(Act())
        assert caught.value.reason == "shutdown"
    with pytest.raises(ConnectionFailedError):
        world.reset()
    with serve(port) as served:
        assert world.reset().observation.steps == 0
        assert world.step(Act()).observation.steps == 1
        world.close()
        assert served.active == 0


def test_a_client_that_is_forgotten_ends_its_session(served: Served) -> None:
    world = World(served.base_url)
    world.reset()
    del world
    gc.collect()
    eventually(lambda: served.active == 0)
    assert served.gateway.manager.ended == {"closed": 1}


def test_a_wait_for_a_slot_ends_when_there_is_one(serve: Callable[..., Any]) -> None:
    with serve(max_sessions=1) as served:
        first = World(served.base_url).connect()
        with pytest.raises(CapacityReachedError) as caught:
            World(served.base_url).connect()
        assert caught.value.details == {"active_sessions": 1, "max_sessions": 1}
        places: list[int] = []
        second = World(served.base_url, wait_for_capacity_s=60.0, on_queued=places.append)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(second.reset)
            eventually(lambda: places)
            first.close()
            assert waiting.result(timeout=20).observation.steps == 0
        assert places[0] == 1
        second.close()


def test_a_call_that_is_not_answered_in_time_is_given_up_and_shifts_no_reply(served: Served, journal: Journal) -> None:
    with World(served.base_url, message_timeout_s=0.3) as world:
        world.reset()
        with pytest.raises(CallTimeoutError, match="message_timeout_s"):
            world.step(Act(gate="later", reward=1.0))
        journal.open_gate("later")
        eventually(lambda: journal.count("step") == 1)
        result = world.step(Act(reward=2.0))
        assert (result.reward, result.observation.steps) == (2.0, 2)


def test_a_step_s_own_limit_is_the_server_s_too(served: Served) -> None:
    with World(served.base_url) as world:
        world.reset()
        with pytest.raises(SessionLostError, match=r"step took longer than 0\.2 s") as caught:
            world.step(Act(gate="never"), timeout_s=0.2)
        assert caught.value.reason == "step_deadline"
        assert world.reset().observation.steps == 0


def test_a_request_over_the_server_s_limit_is_not_sent(serve: Callable[..., Any]) -> None:
    with serve(max_message_bytes=5000) as served, World(served.base_url) as world:
        world.reset()
        with pytest.raises(MessageTooLargeError) as caught:
            world.step(Act(metadata={"fill": "x" * 5000}))
        assert caught.value.details["limit"] == 5000
        assert caught.value.details["size"] > 5000
        assert world.step(Act()).observation.steps == 1


def test_a_reply_over_the_client_s_limit_costs_that_call_only(served: Served) -> None:
    with World(served.base_url, max_message_size_mb=0.001) as world:
        world.reset()
        world.step(Act())
        session = world.session_id
        with pytest.raises(MessageTooLargeError, match="max_message_size_mb"):
            world.step(Act(fails="x" * 2000))
        assert world.session_id == session
        assert world.step(Act()).observation.steps == 2


def test_nothing_but_daemon_threads_is_left(served: Served) -> None:
    with World(served.base_url) as world:
        world.reset()
    left = [thread for thread in threading.enumerate() if not thread.daemon]
    assert left == [threading.main_thread()]
