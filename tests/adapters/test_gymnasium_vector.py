"""Sessions of a batch client as a Gymnasium vector environment: equal to SyncVectorEnv in every autoreset mode."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from openenv_core.adapters.gymnasium import GymnasiumVectorEnv, environment_from_gymnasium
from openenv_core.client import BatchClient
from openenv_core.errors import ConfigurationError
from tests.adapters.worlds import Walk, WalkEnv
from tests.support.serving import serving

_SESSIONS = 3


@pytest.fixture(scope="module")
def lake() -> Iterator[str]:
    with serving(environment_from_gymnasium("FrozenLake-v1", max_episode_steps=9)) as server:
        yield server.base_url


@pytest.fixture(scope="module")
def cart() -> Iterator[str]:
    with serving(environment_from_gymnasium("CartPole-v1")) as server:
        yield server.base_url


def batch(url: str) -> BatchClient[Any, Any, Any]:
    return BatchClient(url, sessions=_SESSIONS)


def direct(name: str, mode: AutoresetMode, **arguments: Any) -> VectorEnv[Any, Any, Any]:
    makers = [lambda: gymnasium.make(name, **arguments)] * _SESSIONS
    return SyncVectorEnv(makers, autoreset_mode=mode)


def assert_same(first: Any, second: Any) -> None:
    """Equal in structure and value; what is missing in an array of infos may be any number."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same(first[key], second[key])
    elif isinstance(first, numpy.ndarray) and first.dtype == object:
        assert [type(item) for item in first] == [type(item) for item in second] or len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert (one is None) == (other is None)
            assert one is None or numpy.array_equal(one, other)
    else:
        assert numpy.array_equal(first, second)
        assert first.dtype == second.dtype


def compare(ours: VectorEnv[Any, Any, Any], theirs: VectorEnv[Any, Any, Any], steps: int) -> int:
    """Play both with the same seeds and actions; the number of episodes that ended."""
    assert ours.num_envs == theirs.num_envs
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    theirs.action_space.seed(3)
    assert_same(theirs.reset(seed=21)[0], ours.reset(seed=21)[0])
    over = 0
    for _ in range(steps):
        actions = theirs.action_space.sample()
        expected, seen = theirs.step(actions), ours.step(actions)
        observations, rewards, terminations, truncations, infos = expected
        # Both at once is a termination here.
        expected = (observations, rewards, terminations, truncations & ~terminations, infos)
        for one, other in zip(expected, seen, strict=True):
            assert_same(one, other)
        ended = expected[2] | expected[3]
        over += int(ended.sum())
        if ours.metadata["autoreset_mode"] is AutoresetMode.DISABLED and ended.any():
            kept = [vector.reset(options={"reset_mask": ended.copy()})[0] for vector in (theirs, ours)]
            assert_same(*kept)
    return over


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_cart_pole_equals_the_vector_environment_of_gymnasium(cart: str, mode: AutoresetMode) -> None:
    ours = GymnasiumVectorEnv(batch(cart), autoreset_mode=mode)
    assert compare(ours, direct("CartPole-v1", mode), 80) >= 6
    ours.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_frozen_lake_equals_the_vector_environment_of_gymnasium(lake: str, mode: AutoresetMode) -> None:
    ours = GymnasiumVectorEnv(batch(lake), autoreset_mode=mode)
    assert compare(ours, direct("FrozenLake-v1", mode, max_episode_steps=9), 60) >= 15
    ours.close()


def test_the_mode_is_next_step_unless_given_and_may_be_given_by_its_name(cart: str) -> None:
    ours = GymnasiumVectorEnv(batch(cart))
    assert ours.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    ours.close()
    ours = GymnasiumVectorEnv(batch(cart), autoreset_mode="SameStep")
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    ours.close()
    ours.close()


def test_a_list_of_seeds_seeds_each_session(cart: str) -> None:
    ours = GymnasiumVectorEnv(batch(cart))
    observations, _ = ours.reset(seed=[4, 5, 4])
    assert numpy.array_equal(observations[0], observations[2])
    assert not numpy.array_equal(observations[0], observations[1])
    with pytest.raises(ConfigurationError, match="2 seeds for 3 sessions"):
        ours.reset(seed=[1, 2])
    ours.close()


def test_returned_arrays_are_the_callers_to_keep(cart: str) -> None:
    ours = GymnasiumVectorEnv(batch(cart))
    first, _ = ours.reset(seed=1)
    kept = first.copy()
    ours.step(numpy.zeros(_SESSIONS, numpy.int64))
    assert numpy.array_equal(first, kept)
    ours.close()


@pytest.mark.parametrize("mask", [[True, True], [1, 1, 1], [False, False, False], "all"])
def test_a_mask_that_is_none_is_refused(cart: str, mask: Any) -> None:
    ours = GymnasiumVectorEnv(batch(cart))
    ours.reset(seed=1)
    with pytest.raises(ConfigurationError, match=r"reset_mask.*3 booleans"):
        ours.reset(options={"reset_mask": numpy.array(mask)})
    ours.close()


def test_without_autoreset_a_step_after_the_end_names_the_remedy(lake: str) -> None:
    ours = GymnasiumVectorEnv(batch(lake), autoreset_mode=AutoresetMode.DISABLED)
    ours.reset(seed=1)
    ended = numpy.zeros(_SESSIONS, bool)
    while not ended.any():
        _, _, terminations, truncations, _ = ours.step(numpy.zeros(_SESSIONS, numpy.int64))
        ended = terminations | truncations
    with pytest.raises(ConfigurationError, match="reset_mask"):
        ours.step(numpy.zeros(_SESSIONS, numpy.int64))
    ours.close()


def test_an_environment_of_ours_is_seeded_on_after_each_end() -> None:
    def play(url: str) -> list[list[float]]:
        ours = GymnasiumVectorEnv(WalkEnv.batch(url, sessions=_SESSIONS))
        winds = [ours.reset(seed=9)[0]["wind"].tolist()]
        for _ in range(24):
            observations, rewards, terminations, _, infos = ours.step(numpy.zeros(_SESSIONS, numpy.int64))
            assert not terminations.any() or infos["is_success"].all()
            assert terminations.any() or set(rewards) <= {0.0, 1.0}
            winds.append(observations["wind"].tolist())
        assert isinstance(ours.single_observation_space, spaces.Dict)
        ours.close()
        return winds

    with serving(Walk) as server:
        winds = play(server.base_url)
        assert winds == play(server.base_url)
    assert len({wind for row in winds for wind in row}) > 70
