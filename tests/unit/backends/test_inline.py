import asyncio
import sys
import threading
from typing import Any

import pytest

from openenv_core.backends import EnvironmentCrashedError, InlineBackend
from tests.support.journal import Act, AwaitingWorld, BlockingWorld, Factory, Journal
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def test_it_runs_on_the_event_loop(journal: Journal) -> None:
    handle = await InlineBackend().open(Factory(journal, AwaitingWorld))
    assert (await handle.call("reset")).thread == threading.get_ident()
    await handle.close()


async def test_a_plain_method_can_be_called_right_here_and_an_awaiting_one_cannot(journal: Journal) -> None:
    plain = await InlineBackend().open(Factory(journal, BlockingWorld))
    step = plain.immediate("step")
    assert step is not None
    assert step(Act()).steps == 1
    state = plain.immediate("state")
    assert state is not None
    assert state().step_count == 1
    awaiting = await InlineBackend().open(Factory(journal, AwaitingWorld))
    assert awaiting.immediate("step") is None
    assert awaiting.immediate("state") is not None
    assert awaiting.immediate("nothing_of_the_kind") is None


class AwaitedState:
    def reset(self) -> None: ...

    def step(self, action: Any) -> None: ...

    @property
    async def state(self) -> dict[str, int]:
        return {"step_count": 4}


async def test_a_state_that_has_to_be_awaited_is_awaited() -> None:
    handle = await InlineBackend().open(AwaitedState)
    assert handle.immediate("state") is None
    assert await handle.call("state") == {"step_count": 4}


async def test_a_factory_may_be_async(journal: Journal) -> None:
    journal.open_gate("built")
    handle = await InlineBackend().open(Factory(journal, AwaitingWorld, gate="built"))
    assert (await handle.call("reset")).steps == 0


class Leaves:
    def reset(self) -> None:
        sys.exit(3)

    async def step(self, action: Any) -> None:
        sys.exit(4)

    def close(self) -> None:
        sys.exit(5)


async def test_an_environment_cannot_end_the_server() -> None:
    handle = await InlineBackend().open(Leaves)
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        await handle.call("reset")
    with pytest.raises(RuntimeError, match="SystemExit: 4"):
        await handle.call("step", None)
    await handle.close()
    with pytest.raises(RuntimeError, match="SystemExit: 6"):
        await InlineBackend().open(lambda: sys.exit(6))


async def test_giving_up_on_a_call_ends_it_and_closes_the_environment(journal: Journal) -> None:
    handle = await InlineBackend().open(Factory(journal, AwaitingWorld))
    hanging = asyncio.create_task(handle.call("step", Act(gate="never")))
    await until(lambda: "waits" in journal.events())
    handle.abandon()
    await until(lambda: journal.count("closed") == 1)
    with pytest.raises(EnvironmentCrashedError, match="given up"):
        await hanging
    assert hanging.cancelling() == 0
    await handle.close()
    assert journal.count("closed") == 1
