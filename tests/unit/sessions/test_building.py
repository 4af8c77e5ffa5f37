import asyncio
import dataclasses
from typing import Any

import pytest

from openenv_core.errors import EnvironmentFactoryError, EnvironmentFailedError, UnsupportedOperationError
from openenv_core.sessions.building import Builder, Catalog
from openenv_core.settings import ServerSettings
from tests.support.journal import Journal
from tests.support.places import Place
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


def builder(place: Place, journal: Journal, *, factory: dict[str, Any] | None = None, **limits: Any) -> Builder:
    settings = dataclasses.replace(ServerSettings(), **limits)
    return Builder(place.factory(journal, **(factory or {})), place.make(), settings)


async def test_only_so_many_are_built_at_a_time(place: Place, journal: Journal) -> None:
    building = builder(place, journal, factory={"gate": "built"}, max_constructing=2)

    async def one() -> None:
        handle = await (await building.begin(asyncio.create_task))
        await handle.close()

    attempts = [asyncio.create_task(one()) for _ in range(6)]
    await until(lambda: journal.count("init") == 2)
    journal.open_gate("built")
    await asyncio.gather(*attempts)
    assert journal.count("built") == 6
    assert journal.most("init", "built") <= 2


async def test_a_caller_that_leaves_before_its_turn_costs_no_place(place: Place, journal: Journal) -> None:
    building = builder(place, journal, factory={"gate": "built"}, max_constructing=1)
    first = await building.begin(asyncio.create_task)
    waiting = asyncio.create_task(building.begin(asyncio.create_task))
    await until(lambda: journal.count("init") == 1)
    waiting.cancel()
    await until(waiting.done)
    journal.open_gate("built")
    await (await first).close()
    await (await (await building.begin(asyncio.create_task))).close()
    assert journal.count("init") == 2


async def test_a_failure_is_told_by_the_factory_s_name_and_an_id_and_frees_the_place(
    place: Place, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    building = builder(place, journal, factory={"fails": "mended"}, max_constructing=1)
    for _ in range(2):
        with pytest.raises(EnvironmentFactoryError, match="'Factory' failed to create instance: ") as caught:
            await (await building.begin(asyncio.create_task))
        assert caught.value.details["factory_name"] == "Factory"
        assert caught.value.details["error_id"] in caplog.text
    assert "the world could not be made" in caplog.text
    assert "the world could not be made" in caught.value.message
    assert caught.value.public_message == "Environment factory 'Factory' failed to create instance."


async def test_what_takes_too_long_is_given_up(
    place: Place, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    building = builder(place, journal, factory={"gate": "built"}, construct_deadline_s=0.1)
    with pytest.raises(EnvironmentFactoryError, match=r"create instance: not within 0\.1 s"):
        await (await building.begin(asyncio.create_task))
    assert "within 0.1 s" in caplog.text
    journal.open_gate("built")
    await until(lambda: journal.count("closed") + journal.count("failed") == 1)


async def test_questions_go_to_one_environment_one_at_a_time(place: Place, journal: Journal) -> None:
    catalog = Catalog(builder(place, journal), limit_s=5.0)
    told = await asyncio.gather(*(catalog.ask("get_metadata", ()) for _ in range(3)))
    assert {entry["version"] for entry in told} == {"7"}
    assert await catalog.ask("list_splits", ()) == ["train", "test"]
    with pytest.raises(UnsupportedOperationError, match="list_tasks is not supported"):
        await catalog.ask("list_tasks", ("train",))
    await catalog.close()
    await catalog.close()
    assert journal.events() == ["init", "built", "metadata", "metadata", "metadata", "splits", "closing", "closed"]


async def test_one_that_could_not_be_built_is_tried_again(place: Place, journal: Journal) -> None:
    catalog = Catalog(builder(place, journal, factory={"fails": "mended"}), limit_s=5.0)
    with pytest.raises(EnvironmentFactoryError):
        await catalog.ask("list_splits", ())
    journal.open_gate("mended")
    assert await catalog.ask("list_splits", ()) == ["train", "test"]
    await catalog.close()


async def test_a_question_that_is_never_answered_is_given_up_and_the_next_one_goes_to_a_new_environment(
    place: Place, journal: Journal
) -> None:
    class Hangs(place.world):  # type: ignore[misc,name-defined]
        async def get_metadata(self) -> None:
            for _ in self.journal.tries("never"):
                await asyncio.sleep(0.003)

    catalog = Catalog(builder(dataclasses.replace(place, world=Hangs), journal), limit_s=0.1)
    with pytest.raises(EnvironmentFailedError, match=r"get_metadata took longer than 0\.1 s"):
        await catalog.ask("get_metadata", ())
    assert await catalog.ask("list_splits", ()) == ["train", "test"]
    await catalog.close()
    journal.open_gate("never")
    await until(lambda: journal.count("closed") == 2)


async def test_a_timeout_of_the_environment_s_own_is_its_own(place: Place, journal: Journal) -> None:
    class Slow(place.world):  # type: ignore[misc,name-defined]
        def get_metadata(self) -> None:
            raise TimeoutError("the disk is slow")

    catalog = Catalog(builder(dataclasses.replace(place, world=Slow), journal), limit_s=5.0)
    with pytest.raises(TimeoutError, match="the disk is slow"):
        await catalog.ask("get_metadata", ())
    await catalog.close()
    assert journal.count("init") == 1
