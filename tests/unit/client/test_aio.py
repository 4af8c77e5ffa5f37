"""The awaiting client at a real server."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openenv_core.errors import CallTimeoutError, ConnectionFailedError, EpisodeNotStartedError, SessionLostError
from tests.support.clients import AsyncWorld, knocks
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.serving import Served, serving
from tests.support.waiting import until

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


@pytest.mark.anyio
async def test_an_episode(served: Served) -> None:
    async with AsyncWorld(served.base_url) as world:
        with pytest.raises(EpisodeNotStartedError):
            await world.step(Act())
        assert (await world.reset(seed=3)).observation.seed == 3
        assert (await world.step(Act(reward=0.5))).reward == 0.5
        assert (await world.state()).step_count == 1
        assert (await world.step(Act(ends=True))).terminated
    assert served.active == 0


@pytest.mark.anyio
async def test_calls_on_one_client_are_serialized_and_never_mixed(served: Served) -> None:
    async with AsyncWorld(served.base_url) as world:
        await world.reset()
        results = await asyncio.gather(*(world.step(Act(reward=number)) for number in range(50)))
        assert [result.reward for result in results] == list(range(50))
        assert [result.observation.steps for result in results] == list(range(1, 51))


@pytest.mark.anyio
async def test_clients_side_by_side(served: Served) -> None:
    async def episode(number: int) -> int:
        async with AsyncWorld(served.base_url) as world:
            await world.reset(seed=number)
            for _ in range(10):
                result = await world.step(Act())
            return result.observation.steps

    assert await asyncio.gather(*(episode(number) for number in range(8))) == [10] * 8
    assert served.active == 0


# Nobody can close in order what belongs to a loop that has ended; it is closed when it is collected.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_client_goes_on_after_the_loop_that_it_was_made_in_has_ended(served: Served) -> None:
    world = AsyncWorld(served.base_url)

    async def begin() -> str | None:
        await world.reset()
        await world.step(Act())
        return world.session_id

    async def go_on() -> tuple[int, str | None]:
        return (await world.step(Act())).observation.steps, world.session_id

    session = asyncio.run(begin())
    assert asyncio.run(go_on()) == (2, session)
    asyncio.run(world.close())
    gc.collect()


@pytest.mark.anyio
async def test_a_call_that_is_cancelled_shifts_no_reply(served: Served, journal: Journal) -> None:
    async with AsyncWorld(served.base_url) as world:
        await world.reset()
        cancelled = asyncio.create_task(world.step(Act(gate="later", reward=1.0)))
        await until(lambda: "waits" in journal.events())
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        journal.open_gate("later")
        result = await world.step(Act(reward=2.0))
        assert (result.reward, result.observation.steps) == (2.0, 2)


@pytest.mark.anyio
async def test_an_opening_that_is_cancelled_holds_no_slot(serve: Callable[..., Any]) -> None:
    with serve(max_sessions=1) as served:
        holder = await AsyncWorld(served.base_url).connect()
        world = AsyncWorld(served.base_url, wait_for_capacity_s=60.0)
        for _ in range(3):
            waiting = asyncio.create_task(world.reset())
            await until(lambda: served.gateway.manager.admission.queued == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await until(lambda: served.gateway.manager.admission.queued == 0)
        await holder.close()
        assert (await world.reset()).observation.steps == 0
        assert served.active == 1
        await world.close()
        assert served.active == 0


@pytest.mark.anyio
async def test_a_call_that_is_not_answered_in_time_is_given_up(served: Served, journal: Journal) -> None:
    async with AsyncWorld(served.base_url, message_timeout_s=0.3) as world:
        await world.reset()
        with pytest.raises(CallTimeoutError):
            await world.step(Act(gate="later"))
        journal.open_gate("later")
        assert (await world.step(Act(reward=2.0))).reward == 2.0


@pytest.mark.anyio
async def test_close_never_connects_and_may_come_twice(served: Served) -> None:
    with knocks() as door:
        world = AsyncWorld(door.base_url)
        await world.close()
        await world.close()
        await world.disconnect()
        assert door.count() == 0
    used = AsyncWorld(served.base_url)
    await used.reset()
    await used.close()
    await used.close()
    assert served.active == 0
    with pytest.raises(SessionLostError) as caught:
        await used.step(Act())
    assert caught.value.reason == "closed"
    assert (await used.reset()).observation.steps == 0
    await used.close()


@pytest.mark.anyio
async def test_a_server_that_cannot_be_reached(served: Served) -> None:
    with knocks() as door:
        nobody = door.base_url
    with pytest.raises(ConnectionFailedError):
        await AsyncWorld(nobody).reset()


@pytest.mark.anyio
async def test_a_server_that_goes_and_comes_back(serve: Callable[..., Any]) -> None:
    with serve() as served:
        world = AsyncWorld(served.base_url, reconnect_timeout_s=0.2)
        await world.reset()
        port = served.port
    for _ in range(2):
        with pytest.raises(SessionLostError):
            await world.step(Act())
    with serve(port) as served:
        assert (await world.reset()).observation.steps == 0
        await world.close()


@pytest.mark.anyio
async def test_a_new_session_is_another_one(served: Served) -> None:
    async with AsyncWorld(served.base_url) as first, await first.new_session() as second:
        assert first.session_id != second.session_id
        assert served.active == 2
