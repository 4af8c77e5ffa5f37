"""Episodes of the OpenSpiel environment: they equal the library's, follow the seed and refuse what is illegal."""

import itertools
import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import ValidationError

from benchmarks.processes import REPOSITORY, source_path
from openenv_core.errors import EpisodeNotStartedError, EpisodeOverError, ValidationFailedError
from openspiel_env import OpenSpielAction, OpenSpielObservation
from openspiel_env_server import OpenSpielEnvironment
from openspiel_env_server.demo import move_under_the_ball
from tests.envs.openspiel_play import NAMED, act, along, play, replay, state_of


class TestCatch:
    def test_five_hundred_random_episodes(self) -> None:
        environment, columns, rewards = OpenSpielEnvironment(), set(), []
        for seed in range(500):
            observations, actions = play(environment, seed)
            assert len(actions) == 9
            assert [o.reward for o in observations[:-1]] == [None] + [0.0] * 8
            rewards.append(observations[-1].reward)
            assert observations[-1].success is (rewards[-1] == 1.0)
            assert environment.state.step_count == 9
            columns.add(observations[0].info_state.index(1.0))
        assert set(rewards) == {-1.0, 1.0}
        assert columns == {0, 1, 2, 3, 4}

    def test_the_demo_policy_always_catches(self) -> None:
        environment = OpenSpielEnvironment()
        for seed in range(30):
            observation = environment.reset(seed=seed)
            while not observation.done:
                observation = environment.step(move_under_the_ball(observation))
            assert (observation.reward, observation.success) == (1.0, True)

    def test_without_a_seed_the_balls_differ(self) -> None:
        environment = OpenSpielEnvironment()
        assert len({environment.reset().info_state.index(1.0) for _ in range(200)}) == 5

    def test_fields_of_the_reference(self) -> None:
        environment = OpenSpielEnvironment()
        observation = environment.reset(seed=1)
        assert len(observation.info_state) == 50
        assert observation.info_state.count(1.0) == 2
        assert observation.legal_actions == [0, 1, 2]
        assert observation.legal_action_names == ["LEFT", "STAY", "RIGHT"]
        assert (observation.game_phase, observation.current_player_id) == ("initial", 0)
        assert (observation.opponent_last_action, observation.reward, observation.done) == (None, None, False)
        assert act(environment, 0).game_phase == "playing"
        state = environment.state
        assert (state.game_name, state.agent_player, state.opponent_policy) == ("catch", 0, "random")
        assert (state.game_params, state.num_players, state.step_count) == ({}, 1, 1)


@pytest.mark.parametrize("game_name", NAMED)
class TestNamedGames:
    def test_trajectories_equal_the_library_played_directly(self, game_name: str) -> None:
        environment = OpenSpielEnvironment()
        for seed in range(20):
            observations, actions = play(environment, seed, game_name=game_name)
            history = state_of(environment).history()
            turns = iter(observations)
            earned = 0.0
            played = iter(actions)
            for state, move in itertools.zip_longest(along(game_name, history), history):
                if not state.is_terminal() and state.current_player() != 0:
                    continue
                seen = next(turns)
                earned += seen.reward or 0.0
                tensor = (
                    state.information_state_tensor if len(seen.info_state) in (11, 400) else state.observation_tensor
                )
                assert seen.info_state == tensor(0)
                assert seen.legal_actions == state.legal_actions()
                assert seen.done is state.is_terminal()
                assert move is None or next(played) == move
            assert earned == pytest.approx(state.returns()[0])
            assert next(turns, None) is None
            assert next(played, None) is None

    def test_a_seed_determines_the_episode_everywhere(self, game_name: str) -> None:
        environment = OpenSpielEnvironment()
        plans = [(seed, play(environment, seed, game_name=game_name)[1]) for seed in range(20)]

        def again(plan: tuple[int, list[int]]) -> list[str]:
            return replay(OpenSpielEnvironment(), *plan, game_name=game_name)

        expected = [replay(environment, *plan, game_name=game_name) for plan in plans]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(again, plans)) == expected
        program = (
            "import json, sys\n"
            "from openspiel_env_server import OpenSpielEnvironment\n"
            "from tests.envs.openspiel_play import replay\n"
            "name, plans = json.load(sys.stdin)\n"
            "print(json.dumps([replay(OpenSpielEnvironment(), *plan, game_name=name) for plan in plans]))"
        )
        output = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps([game_name, plans]),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=REPOSITORY,
            env={"PYTHONPATH": source_path()},
        )
        assert json.loads(output.stdout) == expected

    def test_the_process_wide_generators_are_left_alone(self, game_name: str) -> None:
        random.seed(1)
        before = random.getstate()
        play(OpenSpielEnvironment(), 3, game_name=game_name)
        assert random.getstate() == before

    def test_the_agent_is_always_to_move(self, game_name: str) -> None:
        environment = OpenSpielEnvironment()
        for seed in range(30):
            observations, _ = play(environment, seed, game_name=game_name)
            assert all(o.current_player_id == 0 and o.legal_actions for o in observations[:-1])
            last = observations[-1]
            assert (last.current_player_id, last.legal_actions, last.game_phase) == (-4, [], "terminal")
            assert all(len(o.legal_action_names) == len(o.legal_actions) for o in observations)
            assert all(o.success is None for o in observations[:-1])

    def test_observations_survive_json(self, game_name: str) -> None:
        for observation in play(OpenSpielEnvironment(), 4, game_name=game_name)[0]:
            assert OpenSpielObservation.model_validate_json(observation.model_dump_json()) == observation

    @pytest.mark.parametrize("action", [99, -5, 2**40])
    def test_an_illegal_number_changes_nothing(self, game_name: str, action: Any) -> None:
        environment, untouched = OpenSpielEnvironment(), OpenSpielEnvironment()
        legal = environment.reset(seed=8, game_name=game_name).legal_actions
        untouched.reset(seed=8, game_name=game_name)
        before = str(state_of(environment))
        with pytest.raises(ValidationFailedError) as caught:
            act(environment, action)
        assert caught.value.details["legal_actions"] == legal
        assert str(action) in caught.value.message
        assert str(state_of(environment)) == before
        assert environment.state.step_count == 0
        move = OpenSpielAction(action_id=legal[-1])
        assert environment.step(move) == untouched.step(move)

    def test_after_the_end_nothing_moves(self, game_name: str) -> None:
        environment = OpenSpielEnvironment()
        play(environment, 5, game_name=game_name)
        before = state_of(environment).history()
        for _ in range(2):
            with pytest.raises(EpisodeOverError, match="reset"):
                act(environment, 0)
        assert state_of(environment).history() == before
        assert environment.reset(seed=5, game_name=game_name).done is False


@pytest.mark.parametrize("action", [True, "1", 1.5, 1.0, None, [1]])
def test_an_action_that_is_no_integer_is_refused_by_the_model(action: Any) -> None:
    with pytest.raises(ValidationError, match="action_id"):
        OpenSpielAction(action_id=action)
    with pytest.raises(ValidationError, match="action_id"):
        OpenSpielAction.model_validate_json(json.dumps({"action_id": action}))


def test_before_the_first_reset() -> None:
    environment = OpenSpielEnvironment()
    with pytest.raises(EpisodeNotStartedError, match="reset"):
        act(environment, 0)
    assert (environment.state.episode_id, environment.state.step_count, environment.state.game_name) == (
        None,
        0,
        "catch",
    )
