import math
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from openenv_core.errors import (
    EpisodeNotStartedError,
    EpisodeOverError,
    InvalidObservationError,
    InvalidRewardError,
)
from openenv_core.sessions.episode import Episode, Phase
from openenv_core.types import Observation


def running(**arguments: Any) -> Episode:
    episode = Episode(**arguments)
    episode.started("e", Observation())
    return episode


def test_a_step_needs_an_episode() -> None:
    with pytest.raises(EpisodeNotStartedError, match="call reset first"):
        Episode().check_step()


def test_a_step_after_the_end_is_refused_until_the_next_reset() -> None:
    episode = running()
    episode.stepped(Observation(done=True))
    for _ in range(2):
        with pytest.raises(EpisodeOverError, match="call reset"):
            episode.check_step()
    episode.started("f", Observation())
    episode.check_step()


def test_an_episode_may_start_by_itself() -> None:
    episode = Episode(auto_start=True)
    episode.check_step()
    episode.stepped(Observation(reward=1.0))
    assert (episode.phase, episode.step_count) == (Phase.RUNNING, 1)


def test_an_episode_that_starts_by_itself_ends_all_the_same() -> None:
    episode = Episode(auto_start=True)
    episode.stepped(Observation(done=True))
    with pytest.raises(EpisodeOverError):
        episode.check_step()


def test_a_lenient_environment_decides_for_itself() -> None:
    episode = Episode(lenient=True)
    episode.check_step()
    episode.stepped(Observation(done=True))
    episode.check_step()


def test_an_episode_may_be_over_at_once() -> None:
    episode = Episode()
    assert episode.started("e", Observation(done=True)) is False
    assert episode.phase is Phase.OVER


def test_the_last_step_that_is_allowed_is_cut_and_says_so() -> None:
    episode = running(max_steps=2)
    first, last = Observation(reward=1.0), Observation(reward=2.0)
    assert episode.stepped(first) is False
    assert (first.done, first.truncated) == (False, False)
    assert episode.stepped(last) is True
    assert (last.done, last.truncated) == (True, True)
    assert (episode.phase, episode.total_reward) == (Phase.OVER, 3.0)


def test_an_end_of_the_task_at_the_limit_is_no_cut() -> None:
    episode = running(max_steps=1)
    last = Observation(done=True)
    assert episode.stepped(last) is False
    assert last.truncated is False


def test_a_cut_by_the_environment_itself_is_an_end() -> None:
    observation = Observation(truncated=True)
    assert running().stepped(observation) is True
    assert observation.done is True


def test_an_observation_without_a_field_for_it_is_cut_all_the_same() -> None:
    observation = SimpleNamespace(reward=None, done=False)
    assert running(max_steps=1).stepped(observation) is True
    assert observation.done is True


@pytest.mark.parametrize(
    "reward", [math.nan, math.inf, -math.inf, numpy.float32("nan"), numpy.array([1.0, 2.0]), "much"]
)
@pytest.mark.parametrize("verb", ["reset", "step"])
def test_a_reward_is_a_finite_number(reward: Any, verb: str) -> None:
    observation = SimpleNamespace(reward=reward, done=False)
    episode = running()
    with pytest.raises(InvalidRewardError, match="reward"):
        episode.started("e", observation) if verb == "reset" else episode.stepped(observation)
    assert math.isfinite(episode.total_reward)


@pytest.mark.parametrize(
    ("reward", "kept"),
    [(numpy.float32(0.5), 0.5), (numpy.int64(2), 2.0), (numpy.array(3.0), 3.0), (True, True), (1, 1)],
)
def test_a_reward_becomes_a_plain_number(reward: Any, kept: Any) -> None:
    observation = SimpleNamespace(reward=reward, done=False)
    running().stepped(observation)
    assert observation.reward == kept
    assert type(observation.reward) is type(kept)


@pytest.mark.parametrize(
    "returned",
    [None, {}, (1, 2), "text", SimpleNamespace(done=False), SimpleNamespace(reward=1.0), Observation],
    ids=repr,
)
@pytest.mark.parametrize("verb", ["reset", "step"])
def test_what_is_no_observation_is_refused(returned: Any, verb: str) -> None:
    episode = running()
    with pytest.raises(InvalidObservationError, match=f"{verb} returned"):
        episode.started("e", returned) if verb == "reset" else episode.stepped(returned)


def test_a_reset_starts_the_count_anew() -> None:
    episode = running()
    episode.stepped(Observation(reward=1.5))
    episode.started("f", Observation(reward=0.25))
    assert (episode.episode_id, episode.step_count, episode.total_reward) == ("f", 0, 0.25)


class Machine(RuleBasedStateMachine):
    """Any order of resets and steps, against the phases as they are drawn."""

    @initialize(max_steps=st.none() | st.integers(1, 4), auto_start=st.booleans(), lenient=st.booleans())
    def begin(self, max_steps: int | None, auto_start: bool, lenient: bool) -> None:
        self.episode = Episode(max_steps=max_steps, auto_start=auto_start, lenient=lenient)
        self.max_steps, self.auto_start, self.lenient = max_steps, auto_start, lenient
        self.phase, self.steps, self.total = Phase.NEEDS_RESET, 0, 0.0

    @rule(done=st.booleans(), reward=st.none() | st.integers(-3, 3) | st.floats(-3, 3))
    def reset(self, done: bool, reward: float | None) -> None:
        self.episode.started("e", Observation(done=done, reward=reward))
        self.phase, self.steps, self.total = (Phase.OVER if done else Phase.RUNNING), 0, float(reward or 0)

    @rule(done=st.booleans(), truncated=st.booleans(), reward=st.none() | st.integers(-3, 3) | st.floats(-3, 3))
    def step(self, done: bool, truncated: bool, reward: float | None) -> None:
        allowed = self.lenient or self.phase is Phase.RUNNING or (self.phase is Phase.NEEDS_RESET and self.auto_start)
        if not allowed:
            expected = EpisodeOverError if self.phase is Phase.OVER else EpisodeNotStartedError
            with pytest.raises(expected):
                self.episode.check_step()
            return
        self.episode.check_step()
        observation = Observation(done=done, truncated=truncated, reward=reward)
        cut = self.episode.stepped(observation)
        self.steps += 1
        self.total += float(reward or 0)
        at_the_limit = self.max_steps is not None and self.steps >= self.max_steps
        assert cut is observation.truncated is (truncated or (at_the_limit and not done))
        assert observation.done is (done or cut)
        self.phase = Phase.OVER if observation.done else Phase.RUNNING

    @invariant()
    def the_counts_agree(self) -> None:
        assert self.episode.phase is self.phase
        assert self.episode.step_count == self.steps
        assert self.episode.total_reward == pytest.approx(self.total)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
