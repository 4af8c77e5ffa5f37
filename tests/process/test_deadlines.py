"""A call that takes too long ends its session, wherever it runs; so does a construction."""

import threading
from pathlib import Path

import pytest

from openenv_core.errors import EnvironmentFactoryError, SessionLostError
from tests.process.places import Count, Here, alive, here
from tests.process.worlds import CountAction
from tests.support.waiting import eventually

CAN_WAIT = ("async", "thread", "process", "async_process")
"""Where a call that takes long does not stop the server. (A plain method on the loop must not block, by contract.)"""

CAN_BLOCK = ("thread", "process")


def lose_by(client: Count, **limits: float) -> None:
    """Run into a deadline."""
    client.reset()
    with pytest.raises(SessionLostError) as lost:
        client.step(CountAction(sleep_s=2.0), **limits)
    assert lost.value.reason == "step_deadline"
    with pytest.raises(SessionLostError):
        client.step(CountAction())


@pytest.mark.parametrize("world", CAN_WAIT)
def test_the_smallest_deadline_of_a_step_counts(world: str, tmp_path: Path) -> None:
    with here(world, tmp_path, max_sessions=1, step_deadline_s=0.8) as place:
        with Count(place.base_url) as client:
            lose_by(client, timeout_s=0.3)  # the call's
            lose_by(client)  # the server's
            lose_by(client, timeout_s=600.0)  # still the server's
            assert client.reset(seed=1).observation.count == 0, "the only slot is free again"
            assert client.step(CountAction()).observation.count == 1
        place.wait_until_free()
        killed = 3 if world == "process" else 0
        eventually(lambda: _all_closed(place, killed))


def _all_closed(place: Here, killed: int) -> bool:
    place.journal.check_all_closed(at_most_lost=4)  # none twice, none elsewhere
    return len(place.journal.entries("close")) == 4 - killed


@pytest.mark.parametrize("world", CAN_BLOCK)
def test_a_construction_that_takes_too_long_is_given_up(world: str, tmp_path: Path) -> None:
    with here(world, tmp_path, build_s=3.0, construct_deadline_s=0.5) as place:
        for _ in range(2):
            with pytest.raises(EnvironmentFactoryError):
                Count(place.base_url).connect()
        place.wait_until_free()
        if world == "thread":
            # A thread cannot be killed: what it has built in the end is closed, in that thread.
            eventually(lambda: len(place.journal.entries("close")) == 2)
        else:
            hung = {entry["pid"] for entry in place.journal.entries("opening")}
            eventually(lambda: not any(alive(pid) for pid in hung))
        place.journal.check_all_closed()


@pytest.mark.parametrize("world", CAN_BLOCK)
def test_so_many_are_built_at_a_time(world: str, tmp_path: Path) -> None:
    with here(world, tmp_path, build_s=0.3, max_constructing=2, sessions_per_worker=4) as place:
        clients = [Count(place.base_url) for _ in range(8)]
        connecting = [threading.Thread(target=client.connect) for client in clients]
        for thread in connecting:
            thread.start()
        for thread in connecting:
            thread.join()
        under_way = most = 0
        for entry in place.journal.entries("opening", "open"):
            under_way += 1 if entry["event"] == "opening" else -1
            most = max(most, under_way)
        assert most == 2
        for client in clients:
            client.close()
        place.journal.check_all_closed()
