"""Opening, resuming, reaping and draining of sessions.

Longer than 400 lines: each part is tried with environments on every backend, by the same few helpers.
"""

import asyncio
import threading
from typing import Any

import pytest

from openenv_core.errors import (
    CapacityReachedError,
    EnvironmentFactoryError,
    LossReason,
    SessionLostError,
    UnauthorizedError,
    UnsupportedOperationError,
)
from openenv_core.sessions import manager as manager_module
from openenv_core.sessions.session import Session
from tests.support.journal import Journal
from tests.support.places import PLACES, Place
from tests.support.sessions import Holder, Managed, managing, play
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def kept(value: Any) -> Any:
    return value


async def reset(session: Session, **options: Any) -> Any:
    return (await session.reset(options, kept)).observation


async def all_free(manager: Managed, journal: Journal) -> None:
    """Every slot is back, every environment that was built is closed, and none of them twice."""
    await until(lambda: manager.admission.active == 0)
    await until(lambda: journal.count("closed") == journal.count("built"))
    assert manager.sessions == {}
    closed = [entry.world for entry in journal.entries() if entry.event == "closing"]
    assert len(closed) == len(set(closed))


# Capacity and construction


async def test_no_more_environments_than_slots_however_many_come_at_once(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=8, factory={"gate": "built"}) as manager:
        attempts = [asyncio.create_task(manager.one()) for _ in range(200)]
        await until(lambda: sum(task.done() for task in attempts) == 192)
        await until(lambda: journal.count("init") == 8)
        assert manager.admission.active == 8
        journal.open_gate("built")
        results = await asyncio.gather(*attempts, return_exceptions=True)
        sessions = [found for found in results if isinstance(found, Session)]
        refusals = [found for found in results if isinstance(found, CapacityReachedError)]
        assert (len(sessions), len(refusals)) == (8, 192)
        assert refusals[0].details == {"active_sessions": 8, "max_sessions": 8}
        for session in sessions:
            await manager.close(session, LossReason.CLOSED)
        await all_free(manager, journal)
        assert journal.most_alive == 8
        assert journal.count("built") == 8


async def test_all_who_wait_get_their_turn_within_the_capacity(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=3) as manager:

        async def one_episode() -> None:
            session = await manager.one(wait_s=60.0)
            await reset(session)
            await play(session)
            await manager.close(session, LossReason.CLOSED)

        await asyncio.gather(*(one_episode() for _ in range(40)))
        await all_free(manager, journal)
        assert journal.count("built") == 40
        assert journal.most_alive <= 3


async def test_only_so_many_are_built_at_a_time(place: Place, journal: Journal) -> None:
    async with managing(place, journal, factory={"gate": "built"}, max_sessions=9, max_constructing=2) as manager:
        attempts = [asyncio.create_task(manager.one()) for _ in range(9)]
        await until(lambda: journal.count("init") == 2)
        await asyncio.sleep(0)
        assert manager.admission.active == 9
        journal.open_gate("built")
        await asyncio.gather(*attempts)
        assert journal.most("init", "built") == 2


async def test_the_queue_is_first_come_and_tells_its_places(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=1) as manager:
        holder = await manager.one()
        places: dict[int, list[int]] = {number: [] for number in range(3)}
        arrived: list[int] = []

        async def wait(number: int) -> None:
            session = await manager.one(wait_s=60.0, on_queued=places[number].append)
            arrived.append(number)
            await manager.close(session, LossReason.CLOSED)

        waiting = [asyncio.create_task(wait(number)) for number in range(3)]
        await until(lambda: manager.admission.queued == 3)
        assert [told[0] for told in places.values()] == [1, 2, 3]
        await manager.close(holder, LossReason.CLOSED)
        await asyncio.gather(*waiting)
        assert arrived == [0, 1, 2]
        await all_free(manager, journal)


async def test_a_wait_that_ends_in_vain_says_how_long_it_was(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=1) as manager:
        await manager.one()
        with pytest.raises(CapacityReachedError) as caught:
            await manager.one(wait_s=0.05)
        assert caught.value.details == {"active_sessions": 1, "max_sessions": 1, "waited_s": 0.05}
        assert manager.admission.queued == 0


# Every way out gives the slot back


async def test_a_factory_that_fails(place: Place, journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    async with managing(place, journal, max_sessions=1, factory={"fails": "mended"}) as manager:
        for _ in range(3):
            with pytest.raises(EnvironmentFactoryError) as caught:
                await manager.one()
            assert caught.value.details["factory_name"] == "Factory"
        assert "could not be made" in caplog.text
        assert manager.admission.active == 0
        journal.open_gate("mended")
        await manager.one()


async def test_a_construction_past_its_deadline(place: Place, journal: Journal) -> None:
    async with managing(
        place, journal, factory={"gate": "built"}, max_sessions=1, construct_deadline_s=place.short_s
    ) as manager:
        with pytest.raises(EnvironmentFactoryError):
            await manager.one()
        assert manager.admission.active == 0
        journal.open_gate("built")
        if place.closes:
            await until(lambda: journal.count("closed") + journal.count("failed") == 1)
        await manager.one()


async def test_a_caller_that_leaves_the_queue(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=1) as manager:
        holder = await manager.one()
        leaving, staying = (asyncio.create_task(manager.one(wait_s=60.0)) for _ in range(2))
        await until(lambda: manager.admission.queued == 2)
        leaving.cancel()
        await until(leaving.done)
        assert manager.admission.queued == 1
        await manager.close(holder, LossReason.CLOSED)
        await manager.close(await staying, LossReason.CLOSED)
        await all_free(manager, journal)


async def test_a_caller_that_leaves_the_queue_in_the_moment_in_which_its_turn_comes(
    place: Place, journal: Journal
) -> None:
    async with managing(place, journal, max_sessions=1) as manager:
        holder = await manager.one()
        leaving, staying = (asyncio.create_task(manager.one(wait_s=60.0)) for _ in range(2))
        await until(lambda: manager.admission.queued == 2)
        manager.admission.release(holder.ticket)  # the slot is the leaving one's, which does not know yet
        leaving.cancel()
        await until(leaving.done)
        session = await asyncio.wait_for(staying, 5.0)
        assert manager.admission.active == 1
        await manager.close(session, LossReason.CLOSED)
        await manager.close(holder, LossReason.CLOSED)
        await all_free(manager, journal)


async def test_a_caller_that_leaves_while_its_environment_is_built(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=1, factory={"gate": "built"}) as manager:
        leaving = asyncio.create_task(manager.one())
        await until(lambda: journal.count("init") == 1)
        leaving.cancel()
        await until(leaving.done)
        # Its slot is taken for as long as that environment is there: a second one would be one too many.
        next_one = asyncio.create_task(manager.one(wait_s=60.0))
        await asyncio.sleep(0.05)
        journal.open_gate("built")
        await manager.close(await next_one, LossReason.CLOSED)
        await all_free(manager, journal)
        assert journal.most_alive == 1


async def test_a_session_that_is_closed(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        holder = Holder()
        session = await manager.one(holder)
        await asyncio.gather(*(manager.close(session, LossReason.CLOSED) for _ in range(3)))
        assert holder.reasons == ["closed"]
        await all_free(manager, journal)
        with pytest.raises(SessionLostError) as caught:
            await play(session)
        assert caught.value.reason == "closed"


async def test_a_close_whose_caller_leaves_is_carried_through(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        running = asyncio.create_task(reset(session, gate="later"))
        await until(lambda: "waits" in journal.events())
        closing = asyncio.create_task(manager.close(session, LossReason.CLOSED))
        await asyncio.sleep(0)
        closing.cancel()
        await until(closing.done)
        journal.open_gate("later")
        await running
        await all_free(manager, journal)


async def test_a_holder_that_fails_costs_no_slot(place: Place, journal: Journal) -> None:
    class Broken(Holder):
        def session_closed(self, session: Session, reason: LossReason) -> None:
            raise OSError("nobody is there")

    async with managing(place, journal) as manager:
        session = await manager.one(Broken())
        with pytest.raises(OSError, match="nobody is there"):
            await manager.close(session, LossReason.CLOSED)
        await all_free(manager, journal)


async def test_the_running_call_ends_before_the_environment_is_closed(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        holder = Holder()
        session = await manager.one(holder)
        running = asyncio.create_task(reset(session, gate="later"))
        await until(lambda: "waits" in journal.events())
        waiting = asyncio.create_task(play(session))
        await asyncio.sleep(0)
        manager.close_soon(session, LossReason.IDLE_TIMEOUT)
        await asyncio.sleep(0)
        assert manager.admission.active == 1
        journal.open_gate("later")
        assert (await running).steps == 0
        with pytest.raises(SessionLostError) as caught:
            await waiting
        assert caught.value.reason == "idle_timeout"
        await all_free(manager, journal)
        assert holder.reasons == ["idle_timeout"]
        assert journal.events()[-3:] == ["reset", "closing", "closed"]


async def test_a_close_does_not_wait_for_ever_for_a_call(
    place: Place, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_module, "_CLOSE_LIMIT_S", 0.1)
    async with managing(place, journal) as manager:
        session = await manager.one()
        hanging = asyncio.create_task(reset(session, gate="never"))
        await until(lambda: "waits" in journal.events())
        await manager.close(session, LossReason.CLOSED)
        assert manager.admission.active == 0
        # Whoever waits for the call is told, rather than left to wait for something that nobody waits for.
        with pytest.raises(SessionLostError) as caught:
            await asyncio.wait_for(hanging, 5.0)
        assert caught.value.reason == "closed"
        journal.open_gate("never")
        if place.closes:
            await until(lambda: journal.count("closed") == 1)
            assert journal.count("closing") == 1


async def test_a_close_does_not_wait_for_ever_for_the_environment(
    place: Place, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_module, "_CLOSE_LIMIT_S", 0.1)
    journal.make_close_wait()
    async with managing(place, journal) as manager:
        await manager.close(await manager.one(), LossReason.CLOSED)
        assert manager.admission.active == 0
        assert journal.count("closing") == 1


async def test_an_unused_session_is_reaped_with_its_reason(place: Place, journal: Journal) -> None:
    clock, holder = Clock(), Holder()
    async with managing(place, journal, clock=clock, idle_timeout_s=0.1) as manager:
        session = await manager.one(holder)
        await reset(session)
        clock.now += 0.09
        await session.state(kept)
        clock.now += 0.09
        await asyncio.sleep(0.1)  # rounds of the reaper, with nothing to do
        assert session.alive
        clock.now += 0.02
        await until(lambda: holder.reasons == ["idle_timeout"])
        await all_free(manager, journal)
        with pytest.raises(SessionLostError) as caught:
            manager.find(session.id)
        assert caught.value.reason == "idle_timeout"
        assert manager.ended == {"idle_timeout": 1}


async def test_a_session_at_work_is_not_reaped(place: Place, journal: Journal) -> None:
    clock, holder = Clock(), Holder()
    async with managing(place, journal, clock=clock, idle_timeout_s=0.1) as manager:
        session = await manager.one(holder)
        running = asyncio.create_task(reset(session, gate="later"))
        await until(lambda: "waits" in journal.events())
        clock.now += 1000.0
        await asyncio.sleep(0.1)
        assert holder.reasons == []
        journal.open_gate("later")
        await running
        assert (await play(session)).steps == 1


async def test_a_session_whose_client_is_away_waits_for_it_and_no_longer(place: Place, journal: Journal) -> None:
    clock, holder = Clock(), Holder()
    async with managing(place, journal, clock=clock, resume_grace_s=0.2) as manager:
        session = await manager.one(holder, resumable=True)
        await reset(session)
        manager.detach(session, holder)
        clock.now += 0.1
        back = Holder()
        assert manager.resume(session.id, session.token, credential=None, holder=back) is session
        assert (await play(session)).steps == 1
        manager.detach(session, holder)  # the old connection has nothing to say any more
        clock.now += 10.0
        await asyncio.sleep(0.1)
        assert session.alive
        manager.detach(session, back)
        clock.now += 0.3
        await all_free(manager, journal)
        with pytest.raises(SessionLostError) as caught:
            manager.resume(session.id, session.token, credential=None, holder=back)
        assert caught.value.reason == "grace_expired"


async def test_a_session_that_cannot_be_resumed_ends_with_its_connection(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        holder = Holder()
        session = await manager.one(holder)
        manager.detach(session, holder)
        assert not session.alive
        await all_free(manager, journal)
        assert manager.ended == {"disconnected": 1}


async def test_a_call_past_its_deadline_frees_the_slot(place: Place, journal: Journal) -> None:
    holder = Holder()
    async with managing(place, journal, max_sessions=1, step_deadline_s=place.short_s) as manager:
        session = await manager.one(holder)
        with pytest.raises(SessionLostError) as caught:
            await reset(session, gate="never")
        assert caught.value.reason == "step_deadline"
        assert not session.alive
        await until(lambda: manager.admission.active == 0)
        assert holder.reasons == ["step_deadline"]
        assert (await reset(await manager.one())).steps == 0
        journal.open_gate("never")
        if place.closes:
            await until(lambda: journal.count("closed") == 1)


# Who may have a session


async def test_a_session_is_resumed_with_its_token_and_credential_only(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        holder = Holder()
        session = await manager.one(holder, resumable=True, credential="alice")
        for token, credential in (("wrong", "alice"), (session.token, "bob"), (session.token, None), ("", "alice")):
            with pytest.raises(UnauthorizedError):
                manager.resume(session.id, token, credential=credential, holder=Holder())
        assert session.holder is holder
        with pytest.raises(UnauthorizedError):
            manager.resume(session.id, "ünicode", credential="alice", holder=Holder())
        assert manager.resume(session.id, session.token, credential="alice", holder=Holder()) is session


async def test_an_unknown_session_was_lost_with_a_server_that_is_gone(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        with pytest.raises(SessionLostError) as caught:
            manager.find("0" * 32)
        assert caught.value.reason == "server_restarted"


# What belongs to no session


async def test_metadata_and_tasks_are_asked_of_one_environment_kept_for_that(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_sessions=1) as manager:
        await manager.one()
        told = await asyncio.gather(*(manager.catalog("get_metadata") for _ in range(3)))
        assert await manager.catalog("list_splits") == ["train", "test"]
        assert {entry["version"] for entry in told} == {"7"}
        assert journal.count("init") == 2
        assert manager.admission.active == 1
        with pytest.raises(UnsupportedOperationError, match="list_tasks is not supported"):
            await manager.catalog("list_tasks", "train")


async def test_the_kept_environment_is_closed_in_the_end(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        await manager.catalog("get_metadata")
    assert journal.events() == ["init", "built", "metadata", "closing", "closed"]


async def test_nothing_runs_on_the_event_loop_of_a_server_whose_environments_live_in_threads(journal: Journal) -> None:
    (thread,) = [place for place in PLACES if place.name == "thread"]
    async with managing(thread, journal) as manager:
        await manager.catalog("get_metadata")
        session = await manager.one()
        await reset(session)
        await play(session)
        await session.state(kept)
        await manager.close(session, LossReason.CLOSED)
    here = threading.get_ident()
    assert {"init", "built", "reset", "step", "state", "metadata", "closed"} <= set(journal.events())
    assert [entry for entry in journal.entries() if entry.thread == here] == []


async def test_the_state_is_read_and_close_is_called_where_the_environment_lives(
    place: Place, journal: Journal
) -> None:
    async with managing(place, journal) as manager:
        sessions = [await manager.one() for _ in range(3)]
        for session in sessions:
            await reset(session)
            await session.state(kept)
            await manager.close(session, LossReason.CLOSED)
    for session_world in {entry.world for entry in journal.entries()}:
        homes = {(entry.pid, entry.thread) for entry in journal.entries() if entry.world == session_world}
        assert len(homes) == 1


# The end


async def test_a_drain_lets_calls_finish_and_ends_everything(place: Place, journal: Journal) -> None:
    holder = Holder()
    async with managing(place, journal, max_sessions=2) as manager:
        busy, unused = await manager.one(holder), await manager.one(holder)
        waiting = asyncio.create_task(manager.one(wait_s=60.0))
        running = asyncio.create_task(reset(busy, gate="later"))
        await until(lambda: "waits" in journal.events() and manager.admission.queued == 1)
        draining = asyncio.create_task(manager.drain(10.0))
        with pytest.raises(CapacityReachedError, match="shutting down"):
            await waiting
        with pytest.raises(CapacityReachedError, match="shutting down"):
            await manager.one()
        with pytest.raises(SessionLostError) as caught:
            await play(unused)
        assert caught.value.reason == "shutdown"
        assert not draining.done()
        journal.open_gate("later")
        assert (await running).steps == 0
        await draining
        assert sorted(holder.reasons) == ["shutdown", "shutdown"]
        await all_free(manager, journal)


async def test_a_drain_does_not_wait_longer_than_its_grace(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        hanging = asyncio.create_task(reset(session, gate="never"))
        await until(lambda: "waits" in journal.events())
        await asyncio.wait_for(manager.drain(0.1), 5.0)
        assert manager.admission.active == 0
        with pytest.raises(SessionLostError):
            await asyncio.wait_for(hanging, 5.0)
        journal.open_gate("never")
        if place.closes:
            await until(lambda: journal.count("closed") == 1)


async def test_an_environment_that_is_built_during_a_drain_is_closed_and_its_caller_told(
    place: Place, journal: Journal
) -> None:
    async with managing(place, journal, factory={"gate": "built"}) as manager:
        opening = asyncio.create_task(manager.one())
        await until(lambda: journal.count("init") == 1)
        draining = asyncio.create_task(manager.drain(5.0))
        await asyncio.sleep(0)
        journal.open_gate("built")
        with pytest.raises(CapacityReachedError, match="shutting down"):
            await opening
        await draining
        await all_free(manager, journal)


async def test_a_drain_waits_for_the_sessions_that_are_ending_already(place: Place, journal: Journal) -> None:
    journal.make_close_wait()
    async with managing(place, journal) as manager:
        manager.close_soon(await manager.one(), LossReason.IDLE_TIMEOUT)
        await until(lambda: journal.count("closing") == 1)
        draining = asyncio.create_task(manager.drain(10.0))
        await asyncio.sleep(0.02)
        journal.open_gate("close")
        await draining
        assert journal.count("closed") == 1
        assert manager.ended == {"idle_timeout": 1}


async def test_draining_again_does_nothing(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        await manager.one()
        await asyncio.gather(manager.drain(5.0), manager.drain(5.0))
        await manager.drain(5.0)
        assert manager.ended == {"shutdown": 1}
