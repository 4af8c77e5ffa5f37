import asyncio
import sys
import threading
from typing import Any

import pytest

from openenv_core.backends import EnvironmentCrashedError, ThreadBackend
from tests.support.journal import Act, AwaitingWorld, BlockingWorld, Factory, Journal
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def test_every_environment_has_a_thread_of_its_own(journal: Journal) -> None:
    backend = ThreadBackend()
    handles = [await backend.open(Factory(journal, BlockingWorld)) for _ in range(3)]
    threads = {(await handle.call("reset")).thread for handle in handles}
    assert len(threads) == 3
    assert threading.get_ident() not in threads
    for handle in handles:
        await handle.close()


async def test_nothing_can_be_called_from_another_thread(journal: Journal) -> None:
    handle = await ThreadBackend().open(Factory(journal, BlockingWorld))
    assert handle.immediate("step") is None
    await handle.close()


async def test_a_thread_does_not_keep_the_process_alive(journal: Journal) -> None:
    handle = await ThreadBackend().open(Factory(journal, BlockingWorld))
    names = [thread.daemon for thread in threading.enumerate() if thread.name.startswith("environment-")]
    assert names
    assert all(names)
    await handle.close()


async def test_async_methods_run_in_the_thread_on_one_loop(journal: Journal) -> None:
    handle = await ThreadBackend().open(Factory(journal, AwaitingWorld))
    first = await handle.call("reset")
    second = await handle.call("step", Act())
    assert first.thread == second.thread != threading.get_ident()
    await handle.close()
    assert journal.count("closed") == 1


class KeepsALock:
    """An asyncio object that is made in one call must work in the next: it belongs to one loop."""

    async def reset(self) -> bool:
        self.lock = asyncio.Lock()
        self.waiter = asyncio.create_task(self.lock.acquire())
        return True

    async def step(self, action: Any) -> bool:
        return await self.waiter


async def test_tasks_of_an_async_environment_live_on_between_calls() -> None:
    handle = await ThreadBackend().open(KeepsALock)
    await handle.call("reset")
    assert await handle.call("step", None) is True
    await handle.close()


class UsesItsOwnTools:
    """A plain method that runs an ``async`` one of the same object."""

    def reset(self) -> int:
        return 0

    def step(self, action: int) -> int:
        return asyncio.run(self.tool(action))

    async def tool(self, number: int) -> int:
        await asyncio.sleep(0)
        return number + 1


async def test_a_plain_method_may_run_async_code_of_its_own() -> None:
    handle = await ThreadBackend().open(UsesItsOwnTools)
    assert [await handle.call("step", number) for number in range(50)] == list(range(1, 51))
    await handle.close()


class Leaves:
    def reset(self) -> None:
        sys.exit(3)

    def step(self, action: Any) -> Any:
        raise StopIteration(7)


async def test_an_environment_cannot_end_the_server() -> None:
    handle = await ThreadBackend().open(Leaves)
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        await handle.call("reset")
    with pytest.raises(RuntimeError, match="StopIteration: 7"):
        await handle.call("step", None)
    await handle.close()


async def test_giving_up_on_a_call_lets_go_of_the_thread_and_closes_the_environment_when_it_returns(
    journal: Journal,
) -> None:
    handle = await ThreadBackend().open(Factory(journal, BlockingWorld))
    hanging = asyncio.create_task(handle.call("step", Act(gate="later")))
    await until(lambda: "waits" in journal.events())
    handle.abandon()
    handle.abandon()
    await handle.close()
    with pytest.raises(EnvironmentCrashedError, match="given up"):
        await hanging
    with pytest.raises(EnvironmentCrashedError, match="given up"):
        await handle.call("step", Act())
    assert journal.count("closing") == 0
    journal.open_gate("later")
    await until(lambda: journal.count("closed") == 1)
    assert len({entry.thread for entry in journal.entries()}) == 1


async def test_many_threads_at_once(journal: Journal) -> None:
    backend = ThreadBackend()
    handles = await asyncio.gather(*(backend.open(Factory(journal, BlockingWorld)) for _ in range(30)))
    results = await asyncio.gather(*(handle.call("step", Act()) for handle in handles for _ in range(5)))
    assert len({result.world for result in results}) == 30
    await asyncio.gather(*(handle.close() for handle in handles))
    assert journal.count("closed") == 30
