"""A served environment as a gymnasium.Env: Gymnasium's own checker passes, and it equals the environment itself."""

import warnings
from typing import Any

import gymnasium
import numpy
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from openenv_core.adapters.gymnasium import GymnasiumEnv, environment_from_gymnasium
from openenv_core.client import EnvClient, GenericEnvClient
from openenv_core.errors import ConfigurationError, SessionLostError
from openenv_core.types import Action, Observation, State
from tests.adapters.worlds import Move, PictureWorld, RichWorld, Walk, WalkEnv, make, same
from tests.support.serving import serving


def check(env: gymnasium.Env[Any, Any]) -> None:
    """Gymnasium's checker, in which a warning fails unless it advises on the shape of spaces or on registering."""
    advice = ["A Box observation space", "For Box action spaces", "Not able to test alternative render modes"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in advice:
            warnings.filterwarnings("ignore", message=f".*{start}")
        check_env(env)


@pytest.mark.parametrize(
    "world", ["CartPole-v1", "FrozenLake-v1", "Taxi-v4", "Blackjack-v1", RichWorld, PictureWorld], ids=str
)
def test_gymnasiums_checker_passes(world: Any) -> None:
    with serving(environment_from_gymnasium(world)) as server:
        env = GymnasiumEnv(GenericEnvClient(base_url=server.base_url))
        direct = make(world)
        assert env.action_space == direct.action_space
        assert env.observation_space == direct.observation_space
        check(env)
        env.close()


@pytest.mark.parametrize("world", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1", RichWorld, PictureWorld], ids=str)
def test_trajectories_equal_the_environment_used_directly(world: Any) -> None:
    direct = make(world)
    space = direct.observation_space
    with serving(environment_from_gymnasium(world)) as server:
        env = GymnasiumEnv(GenericEnvClient(base_url=server.base_url))
        for seed in (11, None, None, 12):
            (expected, info), (seen, told) = direct.reset(seed=seed), env.reset(seed=seed)
            assert same(space, expected, seen)
            assert told == info
            direct.action_space.seed(1)
            over = False
            for _ in range(25):
                if over:
                    break
                action = direct.action_space.sample()
                expected, reward, terminated, truncated, _ = direct.step(action)
                seen, *outcome, _ = env.step(action)
                assert same(space, expected, seen)
                assert outcome == [reward, terminated, truncated and not terminated]
                over = terminated or truncated
        env.close()


def test_pictures_and_texts_are_rendered() -> None:
    with serving(environment_from_gymnasium(PictureWorld, render_mode="rgb_array")) as server:
        env = GymnasiumEnv(GenericEnvClient(base_url=server.base_url))
        assert env.render_mode == "rgb_array"
        assert env.render() is None
        env.reset(seed=4)
        direct = PictureWorld("rgb_array")
        direct.reset(seed=4)
        assert numpy.array_equal(env.render(), direct.render())
        check(env)
        env.close()
    with serving(environment_from_gymnasium("FrozenLake-v1", render_mode="ansi")) as server:
        env = GymnasiumEnv(GenericEnvClient(base_url=server.base_url))
        env.reset(seed=4)
        assert "FHFH" in env.render()
        env.close()


def test_spaces_come_from_bounded_models() -> None:
    with serving(Walk) as server:
        env = GymnasiumEnv(WalkEnv(base_url=server.base_url))
        assert env.action_space == spaces.Discrete(3)
        assert isinstance(env.observation_space, spaces.Dict)
        assert env.observation_space["position"] == spaces.Discrete(21)
        assert env.observation_space["wind"] == spaces.Box(-1.0, 1.0, (), numpy.float64)
        assert env.observation_space["trail"] == spaces.Box(-numpy.inf, numpy.inf, (2,), numpy.float64)
        corner = spaces.Dict({"x": spaces.Discrete(5, start=-2), "bright": spaces.Discrete(2)})
        assert env.observation_space["corner"] == corner
        env.close()


def test_the_checker_passes_on_an_environment_of_ours() -> None:
    with serving(Walk) as server:
        env = GymnasiumEnv(WalkEnv(base_url=server.base_url))
        check(env)
        env.close()


def test_resets_without_a_seed_continue_the_sequence_of_the_last_seed() -> None:
    with serving(Walk) as server:
        env = GymnasiumEnv(WalkEnv(base_url=server.base_url))
        rows = [[env.reset(seed=seed)[0]["wind"] for seed in (5, None, None)] for _ in range(2)]
        assert rows[0] == rows[1]
        assert len(set(map(float, rows[0]))) == 3
        env.close()


def test_options_success_and_missing_rewards() -> None:
    with serving(Walk) as server:
        env = GymnasiumEnv(WalkEnv(base_url=server.base_url))
        observation, info = env.reset(options={"calm": True})
        assert observation["wind"] == 0.0
        assert info == {}
        left, stay = 0, 1
        assert env.step(stay)[1:] == (0.0, False, False, {})
        for _ in range(9):
            env.step(left)
        assert env.step(left)[1:] == (1.0, True, False, {"is_success": True})
        env.close()


def test_given_spaces_and_functions_are_used() -> None:
    with serving(Walk) as server:
        env = GymnasiumEnv(
            GenericEnvClient(base_url=server.base_url),
            action_space=spaces.Discrete(2),
            observation_space=spaces.Box(0, 20, (1,), numpy.float32),
            to_action=lambda action: {"direction": ("left", "right")[action]},
            from_observation=lambda observation: numpy.array([observation["position"]], numpy.float32),
        )
        check(env)
        env.reset(seed=1)
        assert env.step(numpy.int64(1))[0] == [11.0]
        env.close()


def test_a_lost_session_is_an_error_and_no_reward() -> None:
    with serving(Walk) as server:
        env = GymnasiumEnv(WalkEnv(base_url=server.base_url, reconnect_timeout_s=0.2, connect_timeout_s=1))
        env.reset(seed=1)
    with pytest.raises(SessionLostError):
        env.step(0)


def test_what_has_no_space_is_named_with_the_arguments_that_help() -> None:
    class Spoken(Observation):
        words: str

    class Loose(Action):
        number: int

    class Client(EnvClient[Any, Any, State]):
        action_type: Any = Move
        observation_type, state_type = Spoken, State

    with pytest.raises(ConfigurationError, match=r"Spoken\.words.*text.*observation_space and from_observation"):
        GymnasiumEnv(Client(base_url="http://127.0.0.1:9"))
    Client.action_type = Loose
    with pytest.raises(ConfigurationError, match=r"Loose\.number.*bounds.*action_space and to_action"):
        GymnasiumEnv(Client(base_url="http://127.0.0.1:9"))
