"""Many sessions stepped together, at a real server."""

from collections.abc import Iterator
from typing import Any

import pytest

from openenv_core.client import BatchClient
from openenv_core.errors import (
    CapacityReachedError,
    ConfigurationError,
    EnvironmentFailedError,
    LossReason,
    SessionLostError,
)
from tests.support.clients import World, knocks
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.serving import Served, serving
from tests.support.waiting import eventually

MODELS = (Act, Seen, WorldState)

Batch = BatchClient[Act, Seen, WorldState]


@pytest.fixture
def served(journal: Journal) -> Iterator[Served]:
    with serving(Factory(journal, BlockingWorld), *MODELS, limits={"max_sessions": 6}) as found:
        yield found
        journal.open_all()


@pytest.fixture
def batch(served: Served) -> Iterator[Batch]:
    with World.batch(served.base_url, sessions=5) as found:
        yield found


def steps(results: list[Any]) -> list[int]:
    return [result.observation.steps for result in results]


def test_all_sessions_step_together(batch: Batch, served: Served) -> None:
    assert len(batch) == served.active == 5
    started = batch.reset(seeds=range(5))
    assert [result.observation.seed for result in started] == [0, 1, 2, 3, 4]
    assert len({result.observation.world for result in started}) == 5
    for count in range(1, 4):
        results = batch.step([Act(reward=number) for number in range(5)])
        assert steps(results) == [count] * 5
        assert [result.reward for result in results] == [0, 1, 2, 3, 4]
    assert [state.step_count for state in batch.state()] == [3] * 5


def test_some_may_be_left_out(batch: Batch) -> None:
    batch.reset()
    assert steps(batch.step([Act(), None, Act(), None, None])) == [1, 1]
    assert steps(batch.step({4: Act(), 0: Act()})) == [1, 2]
    assert steps(batch.reset(seeds=[7], indices=[0])) == [0]
    assert [state.step_count for state in batch.state()] == [0, 0, 1, 0, 1]


def test_one_that_fails_costs_the_others_nothing(batch: Batch) -> None:
    batch.reset()
    actions = [Act(), Act(fails="it broke"), Act(), Act(), Act()]
    results: list[Any] = batch.step(actions, return_exceptions=True)
    assert isinstance(results[1], EnvironmentFailedError)
    assert steps([result for result in results if result is not results[1]]) == [1] * 4
    with pytest.raises(EnvironmentFailedError, match="it broke") as caught:
        batch.step(actions)
    assert caught.value.details["session_index"] == 1
    assert steps([caught.value.details["results"][index] for index in (0, 2, 3, 4)]) == [2] * 4


def test_results_can_be_taken_as_they_come(batch: Batch, journal: Journal) -> None:
    batch.reset()
    batch.send([Act(gate="later"), Act(), Act(), None, None])
    first = batch.recv(2)
    assert set(first) == {1, 2}
    with pytest.raises(ConfigurationError, match=r"sessions \[0\] have a step out"):
        batch.step([Act()] * 5)
    batch.send({1: Act(), 3: Act()})
    assert set(batch.recv(2)) == {1, 3}
    journal.open_gate("later")
    assert set(batch.recv()) == {0}
    assert batch.recv() == {}


def test_a_session_that_is_lost_is_one_of_them_and_a_reset_brings_it_back(batch: Batch, served: Served) -> None:
    batch.reset()
    manager = served.gateway.manager
    victim = next(iter(manager.sessions.values()))
    served.loop.call_soon_threadsafe(manager.close_soon, victim, LossReason.IDLE_TIMEOUT)
    eventually(lambda: served.active == 4)
    results: list[Any] = batch.step([Act()] * 5, return_exceptions=True)
    lost = [index for index, result in enumerate(results) if isinstance(result, SessionLostError)]
    assert len(lost) == 1
    assert results[lost[0]].reason == "idle_timeout"
    again: list[Any] = batch.step([Act()] * 5, return_exceptions=True)
    assert isinstance(again[lost[0]], SessionLostError)
    assert steps(batch.reset(indices=lost)) == [0]
    assert served.active == 5


def test_at_capacity_none_is_left_open(served: Served) -> None:
    with pytest.raises(CapacityReachedError):
        World.batch(served.base_url, sessions=7).connect()
    eventually(lambda: served.active == 0)


def test_a_batch_that_ends_ends_its_sessions(served: Served) -> None:
    batch = World.batch(served.base_url, sessions=3).connect()
    batch.close()
    batch.close()
    assert served.active == 0
    assert steps(batch.reset()) == [0, 0, 0]
    batch.close()


def test_close_never_connects() -> None:
    with knocks() as door:
        World.batch(door.base_url, sessions=3).close()
        assert door.count() == 0


@pytest.mark.parametrize("given", [{"seeds": [1]}, {"options": [{}]}, {"seeds": [1, 2], "indices": [0]}])
def test_numbers_that_do_not_match_are_refused(batch: Batch, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="do not match"):
        batch.reset(**given)


def test_actions_must_fit_the_sessions(batch: Batch) -> None:
    batch.reset()
    with pytest.raises(ConfigurationError, match="2 actions for 5 sessions"):
        batch.step([Act(), Act()])
    for wrong in ({5: Act()}, {-1: Act()}):
        with pytest.raises(ConfigurationError, match="there are 5 sessions"):
            batch.step(wrong)
    with pytest.raises(ConfigurationError, match="there are 5 sessions"):
        batch.reset(indices=[9])
    assert steps(batch.step([Act()] * 5)) == [1] * 5


def test_a_batch_has_at_least_one_session() -> None:
    with pytest.raises(ValueError, match="sessions is 0"):
        World.batch("http://127.0.0.1:1", sessions=0)
