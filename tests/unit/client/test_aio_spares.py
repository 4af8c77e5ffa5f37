"""What an awaiting client leaves to the next one in its loop, and what becomes of it when the loop ends."""

import asyncio
import gc
import warnings
from collections.abc import Iterator

import pytest

from openenv_core.client import AsyncEnvClient, _aio_spares
from tests.support.awkward import AwkwardInline, Do, Got, Told
from tests.support.serving import Served, serving
from tests.support.waiting import eventually, until


class Client(AsyncEnvClient[Do, Got, Told]):
    action_type, observation_type, state_type = Do, Got, Told


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(AwkwardInline) as found:
        yield found


def connections(served: Served) -> int:
    """Sockets that the server has open."""
    return len(served.server.server_state.connections)


async def episode(served: Served, **arguments: object) -> str | None:
    """Play one; return the session's name."""
    async with Client(served.base_url, **arguments) as client:
        await client.reset()
        assert (await client.step(Do())).observation.steps == 1
        return client.session_id


@pytest.mark.anyio
async def test_a_client_takes_over_what_the_last_one_left(served: Served) -> None:
    names = {await episode(served) for _ in range(5)}
    assert len(names) == 5
    assert connections(served) == 1


@pytest.mark.anyio
async def test_clients_side_by_side_leave_a_few(served: Served) -> None:
    await asyncio.gather(*(episode(served, wait_for_capacity_s=30.0) for _ in range(24)))
    await until(lambda: connections(served) == 8)
    await asyncio.gather(*(episode(served) for _ in range(8)))
    await until(lambda: connections(served) == 8)


@pytest.mark.anyio
async def test_clients_with_other_arguments_do_not(served: Served) -> None:
    await episode(served)
    await episode(served, headers={"X-One": "1"})
    assert connections(served) == 2


@pytest.mark.anyio
async def test_a_connection_that_ended_meanwhile_is_not_used(served: Served) -> None:
    await episode(served)
    for connection in list(served.server.server_state.connections):
        served.loop.call_soon_threadsafe(connection.transport.abort)
    await until(lambda: connections(served) == 0)
    await episode(served)


@pytest.mark.anyio
async def test_what_nobody_comes_for_is_closed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_aio_spares, "KEPT_S", 0.0)
    await episode(served)
    await until(lambda: connections(served) == 0)


def test_it_ends_with_its_loop_and_nothing_is_said(served: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            asyncio.run(episode(served))
            eventually(lambda: connections(served) == 0)
        gc.collect()


def test_a_loop_that_is_only_closed_is_forgotten(served: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # what the loop was to close, it tells
        loop = asyncio.new_event_loop()
        loop.run_until_complete(episode(served))
        loop.close()
        asyncio.run(episode(served))
        assert loop not in _aio_spares._by_loop
        del loop
        gc.collect()
    eventually(lambda: connections(served) == 0)
