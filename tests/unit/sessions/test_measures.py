import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.sessions.episode import Episode
from openenv_core.sessions.measures import Durations, Measures, Spread
from openenv_core.types import Observation


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_durations_are_counted_below_the_right_power(seconds: list[float]) -> None:
    durations = Durations()
    for one in seconds:
        durations.add(one)
    assert sum(durations.counts) == len(seconds)
    for power in (0, 3, 10, 20, 30):
        assert durations.up_to(power) == sum(int(one * 1e6) < 2**power for one in seconds)
    assert durations.total == pytest.approx(sum(seconds))


@given(st.lists(st.floats(-1e6, 1e6), max_size=50))
def test_a_number_belongs_to_the_first_bound_that_is_not_smaller(values: list[float]) -> None:
    spread = Spread((-1, 0, 2.5))
    for value in values:
        spread.add(value)
    expected = [
        sum(value <= -1 for value in values),
        sum(-1 < value <= 0 for value in values),
        sum(0 < value <= 2.5 for value in values),
        sum(value > 2.5 for value in values),
    ]
    assert spread.counts == expected


def played(*rewards: float, done: bool) -> Episode:
    episode = Episode()
    episode.started("e", Observation())
    for at, reward in enumerate(rewards, start=1):
        episode.stepped(Observation(reward=reward, done=done and at == len(rewards)))
    return episode


def test_a_finished_episode_and_an_abandoned_one_are_told_apart() -> None:
    measures = Measures()
    measures.leave(played(1.0, 2.0, done=True))
    measures.leave(played(5.0, done=False))
    assert (sum(measures.finished.steps.counts), measures.finished.steps.total) == (1, 2)
    assert measures.finished.rewards.total == 3.0
    assert (sum(measures.abandoned.steps.counts), measures.abandoned.rewards.total) == (1, 5.0)


def test_an_episode_in_which_nothing_was_done_is_none() -> None:
    measures = Measures()
    measures.leave(Episode())
    measures.leave(played(done=False))
    assert sum(measures.finished.steps.counts) == sum(measures.abandoned.steps.counts) == 0
