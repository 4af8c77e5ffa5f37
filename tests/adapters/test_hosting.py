"""Gymnasium environments hosted as ours: trajectories equal those of the same environment used directly."""

import pickle
import random
from typing import Any

import gymnasium
import numpy
import pytest
from gymnasium import spaces
from pydantic import ValidationError

from openenv_core.adapters.gymnasium import environment_from_gymnasium, spec_from_gymnasium
from openenv_core.adapters.hosting import GymnasiumState, HostedEnvironment, play
from openenv_core.adapters.spaces import sample_from_plain
from openenv_core.client import EnvClient, GenericEnvClient
from openenv_core.environment import traits_of
from openenv_core.errors import ConfigurationError, EpisodeNotStartedError, EpisodeOverError, ValidationFailedError
from openenv_core.types import Image
from tests.adapters.worlds import PictureWorld, RichWorld, make, same
from tests.support.serving import serving

WORLDS: list[Any] = ["CartPole-v1", "FrozenLake-v1", "Taxi-v4", "Blackjack-v1", RichWorld, PictureWorld]


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_trajectories_equal_the_environment_used_directly(world: Any) -> None:
    direct, hosted_type = make(world), environment_from_gymnasium(world)
    hosted, action_type = hosted_type(), hosted_type.action_type()
    space = direct.observation_space
    for seed in (0, 7, None):
        expected, info = direct.reset(seed=seed)
        seen = hosted.reset(seed=seed)
        assert (seen.reward, seen.done, seen.metadata.keys()) == (None, False, info.keys())
        assert same(space, expected, sample_from_plain(space, seen.observation))
        direct.action_space.seed(seed)
        for _ in range(30):
            action = direct.action_space.sample()
            expected, reward, terminated, truncated, info = direct.step(action)
            seen = hosted.step(action_type(action=action))
            assert same(space, expected, sample_from_plain(space, seen.observation))
            assert (seen.reward, seen.done) == (reward, terminated or truncated)
            assert seen.truncated is (truncated and not terminated)
            assert type(seen.reward) is float
            if seen.done:
                break
    hosted.close()
    direct.close()


def test_a_limit_of_time_truncates() -> None:
    hosted = environment_from_gymnasium("FrozenLake-v1", max_episode_steps=3, is_slippery=False)
    environment = hosted()
    environment.reset(seed=1)
    left = hosted.action_type()(action=0)
    observations = [environment.step(left) for _ in range(3)]
    assert [(o.done, o.truncated) for o in observations] == [(False, False), (False, False), (True, True)]
    assert environment.state.step_count == 3


def test_info_becomes_metadata_that_json_knows() -> None:
    hosted = environment_from_gymnasium(RichWorld)
    environment = hosted()
    assert environment.reset(options={"count": 2}).metadata == {"count": 2}
    space = hosted.action_space
    observation = environment.step(hosted.action_type()(action=space.sample()))
    assert observation.metadata == {"count": 3, "array": [0, 1, 2], "nested": {"flag": True}}
    assert hosted.observation_type().model_validate_json(observation.model_dump_json()) == observation


def test_models_refuse_what_is_no_action() -> None:
    action_type = environment_from_gymnasium("CartPole-v1").action_type()
    assert action_type(action=numpy.int64(1)).action == 1
    for value in (2, -1, True, "1", 0.5, None, [0]):
        with pytest.raises(ValidationError):
            action_type(action=value)


def test_what_is_rendered_comes_with_each_observation() -> None:
    hosted = environment_from_gymnasium(PictureWorld, render_mode="rgb_array")
    environment = hosted()
    observation = environment.reset(seed=1)
    assert isinstance(observation.frame, Image)
    assert observation.frame.size == (5, 4)
    pixel = numpy.asarray(observation.observation)[0, 0]
    assert (numpy.asarray(observation.frame) == pixel).all()
    lake = environment_from_gymnasium("FrozenLake-v1", render_mode="ansi")()
    assert "FHFH" in lake.reset(seed=1).text
    silent = environment_from_gymnasium("FrozenLake-v1")().reset(seed=1)
    assert (silent.text, silent.frame) == (None, None)


def test_an_observation_is_not_changed_by_the_next_step() -> None:
    hosted = environment_from_gymnasium(PictureWorld)
    environment = hosted()
    first = environment.reset(seed=1)
    before = first.model_dump_json()
    environment.step(hosted.action_type()(action=0))
    assert first.model_dump_json() == before


@pytest.mark.parametrize(
    ("world", "arguments", "reason"),
    [
        ("NoSuchWorld-v0", {}, "NoSuchWorld"),
        ("CartPole-v1", {"gravity": 3}, "gravity"),
        ("CartPole-v1", {"render_mode": "human"}, "human.*cannot be served"),
        ("no_such_module:World-v0", {}, "no_such_module"),
    ],
)
def test_what_cannot_be_hosted_is_refused_with_the_reason(world: str, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        environment_from_gymnasium(world, **arguments)


def test_a_space_that_cannot_travel_is_refused() -> None:
    class Odd(RichWorld):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = spaces.Dict({"path": spaces.Sequence(spaces.Discrete(2))})

    with pytest.raises(ConfigurationError, match="Sequence"):
        environment_from_gymnasium(Odd)


def test_the_traits_that_a_server_reads() -> None:
    hosted = environment_from_gymnasium("CartPole-v1", execution="inline")
    traits = traits_of(hosted)
    assert (traits.name, traits.execution, traits.concurrency_safe) == ("CartPoleV1Environment", "inline", True)
    assert traits.reset_options.known == ["episode_id", "options", "seed"]
    assert hosted.action_type().__name__ == "CartPoleV1Action"
    assert hosted.state_type() is GymnasiumState


def test_a_hosting_class_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(environment_from_gymnasium("FrozenLake-v1", execution="process", map_name="8x8")))
    assert (again.execution, again.description["observation_space"]["n"]) == ("process", 64)
    assert again().reset(seed=1).observation == 0
    assert pickle.loads(pickle.dumps(HostedEnvironment)) is HostedEnvironment


def test_a_specification_serves_a_registered_environment() -> None:
    spec = spec_from_gymnasium("CartPole-v1")
    assert spec.sample_action is not None
    direct, chooser = gymnasium.make("CartPole-v1"), random.Random(1)
    with serving(spec.factory) as server, GenericEnvClient(base_url=server.base_url) as client:
        with pytest.raises(EpisodeNotStartedError):
            client.step({"action": 0})
        expected, _ = direct.reset(seed=5)
        result = client.reset(seed=5)
        assert result.observation["observation"] == expected.tolist()
        with pytest.raises(ValidationFailedError):
            client.step({"action": 2})
        while not result.done:
            action = spec.sample_action(result.observation, chooser)
            result = client.step(action)
            expected, reward, terminated, truncated, _ = direct.step(action.action)
            assert result.observation["observation"] == expected.tolist()
            assert (result.reward, result.terminated, result.truncated) == (reward, terminated, truncated)
        with pytest.raises(EpisodeOverError):
            client.step({"action": 0})
        assert client.state()["gymnasium_id"] == "CartPole-v1"


def test_the_demonstration_plays_one_episode() -> None:
    with (
        serving(environment_from_gymnasium("FrozenLake-v1")) as server,
        GenericEnvClient(base_url=server.base_url) as client,
    ):
        results = list(play(client))
    assert len(results) > 1
    assert [result.done for result in results] == [False] * (len(results) - 1) + [True]


def test_a_typed_client_reads_every_kind_of_space() -> None:
    hosted = environment_from_gymnasium(RichWorld)

    class Client(EnvClient[Any, Any, GymnasiumState]):
        action_type, observation_type, state_type = (
            hosted.action_type(),
            hosted.observation_type(),
            hosted.state_type(),
        )

    direct, space = RichWorld(), RichWorld().observation_space
    with serving(hosted) as server, Client(base_url=server.base_url) as client:
        for seed in (3, 4):
            expected, _ = direct.reset(seed=seed)
            result = client.reset(seed=seed)
            assert same(space, expected, sample_from_plain(space, result.observation.observation))
            while not result.done:
                action = direct.action_space.sample()
                expected, reward, *_ = direct.step(action)
                result = client.step(hosted.action_type()(action=action))
                assert result.reward == reward
                assert same(space, expected, sample_from_plain(space, result.observation.observation))
