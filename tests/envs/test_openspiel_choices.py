"""What a client may choose at reset, and what an operator may set."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openenv_core.errors import ConfigurationError, ValidationFailedError
from openspiel_env_server import OpenSpielEnvironment, spec
from openspiel_env_server.games import BOUNDS
from openspiel_env_server.settings import OpenSpielSettings
from tests.envs.openspiel_play import NAMED, act


class TestChoices:
    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"game_name": "cach"}, "did you mean catch"),
            ({"game_name": "chess"}, "chess.*not offered here.*catch"),
            ({"opponent_policy": "clever"}, "opponent_policy.*random"),
            ({"agent_player": 1}, "agent_player.*from 0 to 0"),
            ({"game_name": "tic_tac_toe", "agent_player": -1}, "agent_player"),
            ({"game_params": {"rows": -1}}, "rows.*2 to 100.*-1"),
            ({"game_params": {"rows": 100_000, "columns": 1000}}, "rows"),
            ({"game_params": {"rows": True}}, "rows"),
            ({"game_params": {"rows": "10"}}, "rows"),
            ({"game_params": {"rows": 10.0}}, "rows"),
            ({"game_params": {"rows": None}}, "rows"),
            ({"game_params": {"depth": 3}}, "no parameter 'depth'.*columns, rows"),
            ({"game_name": "2048", "game_params": {"max_tile": 0}}, "max_tile.*8, 16"),
            ({"game_name": "nim", "game_params": {"is_misere": 0}}, "is_misere.*false, true"),
            ({"game_name": "hex", "game_params": {"num_rows": 5}}, "num_rows.*default"),
            ({"game_name": "hex", "game_params": {"plain_obs_tensor": True}}, "plain_obs_tensor.*default"),
            ({"game_name": "nim", "game_params": {"pile_sizes": "/etc/passwd"}}, "pile_sizes.*default"),
            ({"game_name": "othello", "opponent_policy": "minimax", "agent_player": 2}, "agent_player"),
            ({"game_name": "pig", "opponent_policy": "minimax"}, "without chance"),
        ],
    )
    def test_a_choice_that_cannot_work_is_refused_and_the_game_goes_on(
        self, options: dict[str, Any], named: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        environment = OpenSpielEnvironment()
        environment.reset(seed=2)
        act(environment, 0)
        state = environment.state.model_dump()
        with pytest.raises(ValidationFailedError, match=named) as caught:
            environment.reset(**options)
        assert caught.value.details["errors"][0]["loc"]
        json.dumps(caught.value.details)
        assert environment.state.model_dump() == state
        act(environment, 0)
        captured = capfd.readouterr()
        assert (captured.out, captured.err) == ("", "")

    @pytest.mark.parametrize(
        ("game_name", "reason"),
        [
            ("matrix_pd", "same time"),
            ("goofspiel", "same time"),
            ("mfg_crowd_modelling", "mean-field"),
            ("turn_based_simultaneous_game", "another game"),
            ("efg_game", "a file"),
            ("crossword", "not numbered"),
        ],
    )
    def test_games_of_other_kinds_are_refused_with_the_reason(self, game_name: str, reason: str) -> None:
        environment = OpenSpielEnvironment(OpenSpielSettings(allowed_games=("*",)))
        with pytest.raises(ValidationFailedError, match=reason):
            environment.reset(game_name=game_name)

    @pytest.mark.parametrize(
        ("game_name", "params"),
        [
            ("hanabi", {"colors": 37}),
            ("hanabi", {"players": 2, "hand_size": 0}),
            ("universal_poker", {"numRanks": 37}),
            ("yacht", {"dice_sides": 100}),
            ("go", {"komi": 1.5}),
            ("quoridor", {"ansi_color_output": True}),
        ],
    )
    def test_numbers_that_could_end_the_process_never_reach_the_library(
        self, game_name: str, params: dict[str, Any]
    ) -> None:
        anything = OpenSpielEnvironment(OpenSpielSettings(allowed_games=("*",)))
        with pytest.raises(ValidationFailedError, match="must be left at its default"):
            anything.reset(game_name=game_name, game_params=params)

    def test_an_operator_may_widen_and_narrow_the_bounds(self) -> None:
        variables = {
            "OPENSPIEL_ALLOWED_GAMES": "catch,mnk",
            "OPENSPIEL_PARAM_BOUNDS": '{"mnk": {"m": [3, 9]}, "catch": {"rows": [2, 200]}}',
        }
        environment = OpenSpielEnvironment(OpenSpielSettings.from_environ(variables))
        assert len(environment.reset(game_params={"rows": 200, "columns": 3}).info_state) == 600
        environment.reset(game_name="mnk", game_params={"m": 4, "n": 15})
        with pytest.raises(ValidationFailedError, match=r"'m'.*3 to 9"):
            environment.reset(game_name="mnk", game_params={"m": 10})
        with pytest.raises(ValidationFailedError, match=r"'n'.*default"):
            environment.reset(game_name="mnk", game_params={"n": 4})

    def test_files_and_the_librarys_own_seed_cannot_be_chosen(self) -> None:
        anything = OpenSpielEnvironment(OpenSpielSettings(allowed_games=("*",)))
        with pytest.raises(ValidationFailedError, match="instances_file"):
            anything.reset(game_name="bargaining", game_params={"instances_file": "/etc/passwd"})
        with pytest.raises(ValidationFailedError, match="no parameter 'rng_seed'"):
            anything.reset(game_name="negotiation", game_params={"rng_seed": 5})

    def test_choices_hold_for_one_episode(self) -> None:
        environment = OpenSpielEnvironment(OpenSpielSettings(game_params={"rows": 6}))
        assert len(environment.reset().info_state) == 30
        assert len(environment.reset(game_params={"rows": 4, "columns": 3}).info_state) == 12
        assert environment.state.game_params == {"rows": 4, "columns": 3}
        assert len(environment.reset(game_name="tic_tac_toe").info_state) == 27
        assert len(environment.reset().info_state) == 30

    def test_an_observation_that_would_be_too_large_is_refused(self) -> None:
        small = OpenSpielEnvironment(OpenSpielSettings(max_tensor=60))
        with pytest.raises(ValidationFailedError, match="at most 60"):
            small.reset(game_params={"rows": 100})

    @settings(max_examples=200, deadline=None)
    @given(st.sampled_from(sorted(BOUNDS)), st.data())
    def test_every_choice_within_the_bounds_plays(self, game_name: str, data: st.DataObject) -> None:
        params: dict[str, int] = {}
        for name, choices in BOUNDS[game_name].items():
            if data.draw(st.booleans()):
                params[name] = data.draw(st.sampled_from(choices), label=name)
        environment = OpenSpielEnvironment()
        observation = environment.reset(seed=1, game_name=game_name, game_params=params)
        chooser = random.Random(1)
        for _ in range(30):
            if observation.done:
                break
            assert observation.legal_actions
            observation = act(environment, chooser.choice(observation.legal_actions))


class TestSettings:
    @pytest.mark.parametrize(
        ("variable", "text"),
        [
            ("OPENSPIEL_GAME", "cach"),
            ("OPENSPIEL_GAME", "matrix_pd"),
            ("OPENSPIEL_GAME", ""),
            ("OPENSPIEL_AGENT_PLAYER", "1"),
            ("OPENSPIEL_AGENT_PLAYER", "-1"),
            ("OPENSPIEL_AGENT_PLAYER", "one"),
            ("OPENSPIEL_OPPONENT_POLICY", "clever"),
            ("OPENSPIEL_GAME_PARAMS", "rows=3"),
            ("OPENSPIEL_GAME_PARAMS", "[1]"),
            ("OPENSPIEL_GAME_PARAMS", '{"depth": 3}'),
            ("OPENSPIEL_GAME_PARAMS", '{"rows": null}'),
            ("OPENSPIEL_GAME_PARAMS", '{"rows": 100000, "columns": 1000}'),
            ("OPENSPIEL_ALLOWED_GAMES", "catch,nonsense"),
            ("OPENSPIEL_ALLOWED_GAMES", " , "),
            ("OPENSPIEL_PARAM_BOUNDS", "3"),
            ("OPENSPIEL_PARAM_BOUNDS", '{"chess": 3}'),
            ("OPENSPIEL_PARAM_BOUNDS", '{"cach": {"rows": [1, 2]}}'),
            ("OPENSPIEL_PARAM_BOUNDS", '{"catch": {"row": [1, 2]}}'),
            ("OPENSPIEL_PARAM_BOUNDS", '{"catch": {"rows": [2, 1]}}'),
            ("OPENSPIEL_PARAM_BOUNDS", '{"catch": {"rows": [1, 2.5]}}'),
            ("OPENSPIEL_PARAM_BOUNDS", '{"go": {"komi": [1, 2]}}'),
            ("OPENSPIEL_MAX_TENSOR", "many"),
            ("OPENSPIEL_MCTS_SIMULATIONS", "0"),
            ("OPENSPIEL_MINIMAX_DEPTH", "-2"),
        ],
    )
    def test_a_bad_value_is_refused_by_the_name_of_its_variable(self, variable: str, text: str) -> None:
        with pytest.raises(ConfigurationError, match=variable):
            OpenSpielSettings.from_environ({variable: text})

    def test_the_environment_reads_the_variables_when_it_is_built(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENSPIEL_GAME", "tic_tac_toe")
        monkeypatch.setenv("OPENSPIEL_AGENT_PLAYER", "1")
        monkeypatch.setenv("OPENSPIEL_OPPONENT_POLICY", "last")
        environment = OpenSpielEnvironment()
        assert environment.state.num_players == 2
        assert environment.reset().opponent_last_action == 8
        monkeypatch.setenv("OPENSPIEL_OPPONENT_POLICY", "clever")
        with pytest.raises(ConfigurationError, match=r"OPENSPIEL_OPPONENT_POLICY='clever'.*minimax"):
            OpenSpielEnvironment()

    def test_the_default_game_may_always_be_played(self) -> None:
        chosen = OpenSpielSettings.from_environ({"OPENSPIEL_GAME": "mnk", "OPENSPIEL_ALLOWED_GAMES": "catch"})
        environment = OpenSpielEnvironment(chosen)
        assert environment.reset().done is False
        environment.reset(game_name="catch")
        with pytest.raises(ValidationFailedError, match="not offered"):
            environment.reset(game_name="tic_tac_toe")

    @pytest.mark.parametrize("variant", NAMED)
    def test_each_variant_of_the_specification_starts(self, variant: str) -> None:
        assert spec.variants is not None
        assert spec.sample_action is not None
        environment = OpenSpielEnvironment(OpenSpielSettings.from_environ(spec.variants[variant]))
        observation = environment.reset(seed=1)
        assert environment.state.game_name == variant
        chooser = random.Random(1)
        while not observation.done:
            observation = environment.step(spec.sample_action(observation, chooser))

    def test_the_table_names_every_variable(self) -> None:
        rows = OpenSpielSettings.table()
        assert {row[1] for row in rows} >= {"OPENSPIEL_GAME", "OPENSPIEL_AGENT_PLAYER", "OPENSPIEL_OPPONENT_POLICY"}
        assert all(variable.startswith("OPENSPIEL_") and meaning for _, variable, _, meaning in rows)
