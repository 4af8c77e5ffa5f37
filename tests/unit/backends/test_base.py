"""What every backend promises."""

import asyncio
import threading
from typing import Any

import pytest

from openenv_core.errors import ConfigurationError
from tests.support.journal import Act, Journal
from tests.support.places import OpenOne, Place
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def test_calls_reach_the_environment_and_come_back(open_one: OpenOne, place: Place) -> None:
    handle = await open_one()
    first = await handle.call("reset", seed=3)
    second = await handle.call("step", Act(reward=0.5))
    state = await handle.call("state")
    assert (first.seed, second.steps, second.reward, state.step_count) == (3, 1, 0.5, 1)
    assert first.world == second.world == state.world
    assert handle.traits.name == place.world.__name__
    await handle.close()


async def test_an_environment_stays_in_one_thread_from_first_to_last(open_one: OpenOne, journal: Journal) -> None:
    handle = await open_one()
    await handle.call("reset")
    await handle.call("step", Act())
    await handle.call("state")
    await handle.call("get_metadata")
    await handle.close()
    assert len({(entry.pid, entry.thread) for entry in journal.entries()}) == 1
    assert journal.events() == ["init", "built", "reset", "step", "state", "metadata", "closing", "closed"]


async def test_what_a_method_raises_comes_out_and_the_environment_lives(open_one: OpenOne) -> None:
    handle = await open_one()
    with pytest.raises(RuntimeError, match="it broke"):
        await handle.call("step", Act(fails="it broke"))
    assert (await handle.call("step", Act())).steps == 1
    await handle.close()


async def test_what_the_factory_raises_comes_out(open_one: OpenOne, journal: Journal) -> None:
    with pytest.raises(RuntimeError, match="could not be made"):
        await open_one(fails="mended")
    assert journal.events() == ["init", "failed"]


async def test_what_is_no_environment_is_refused(place: Place) -> None:
    with pytest.raises(ConfigurationError, match="int is not an environment"):
        await place.make().open(int)


async def test_an_option_may_be_called_like_anything(open_one: OpenOne) -> None:
    handle = await open_one()
    with pytest.raises(TypeError, match="verb"):  # the environment's own objection, not the backend's
        await handle.call("reset", verb="x")
    await handle.close()


async def test_close_is_called_once(open_one: OpenOne, journal: Journal) -> None:
    handle = await open_one()
    await asyncio.gather(handle.close(), handle.close())
    await handle.close()
    assert journal.count("closing") == journal.count("closed") == 1


class Stubborn:
    def reset(self) -> None: ...

    def step(self, action: Any) -> None: ...

    def close(self) -> None:
        raise OSError("it does not close")


class Silent:
    def reset(self) -> None: ...

    def step(self, action: Any) -> None: ...


@pytest.mark.parametrize("cls", [Stubborn, Silent])
async def test_a_close_that_fails_or_is_missing_harms_nobody(place: Place, cls: type[Any]) -> None:
    handle = await place.make().open(cls)
    await handle.close()


async def test_one_environment_that_waits_holds_up_no_other(open_one: OpenOne, journal: Journal) -> None:
    slow, quick = await open_one(), await open_one()
    waiting = asyncio.create_task(slow.call("step", Act(gate="later")))
    await until(lambda: "waits" in journal.events())
    for count in range(1, 4):
        assert (await quick.call("step", Act())).steps == count
    assert not waiting.done()
    journal.open_gate("later")
    assert (await waiting).steps == 1
    await slow.close()
    await quick.close()


async def test_an_environment_whose_caller_gave_up_while_it_was_built_is_closed(
    open_one: OpenOne, place: Place, journal: Journal
) -> None:
    building = asyncio.create_task(open_one(gate="built"))
    await until(lambda: "init" in journal.events())
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    journal.open_gate("built")
    if place.closes:
        await until(lambda: journal.count("closed") + journal.count("failed") == 1)
    assert len({entry.thread for entry in journal.entries()}) == 1


async def test_a_backend_can_be_stopped_with_nothing_open(place: Place) -> None:
    backend = place.make()
    await backend.start()
    await backend.stop()
    assert backend.name == place.name


async def test_no_thread_is_left_when_all_is_closed(place: Place, journal: Journal) -> None:
    before = set(threading.enumerate())
    backend = place.make()
    handles = [await backend.open(place.factory(journal)) for _ in range(5)]
    for handle in handles:
        await handle.call("reset")
        await handle.close()
    await backend.stop()
    await until(lambda: set(threading.enumerate()) <= before)
