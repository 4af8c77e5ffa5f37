"""What an operator sets, and what happens to a value that cannot work."""

import pytest

from openenv_core.environment import traits_of
from openenv_core.errors import ConfigurationError
from tests.envs.textarena_play import act, episode
from textarena_env_server import TextArenaEnvironment, _environment_class, spec
from textarena_env_server.players import read_board
from textarena_env_server.settings import TextArenaSettings


def test_defaults() -> None:
    settings = TextArenaSettings.from_environ({})
    assert (settings.env_id, settings.num_players, settings.max_turns, settings.keywords) == ("Wordle-v0", 1, None, {})


def test_every_variable_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTARENA_ENV_ID", "GuessTheNumber-v0")
    monkeypatch.setenv("TEXTARENA_MAX_TURNS", "2")
    monkeypatch.setenv("TEXTARENA_NUM_PLAYERS", "1")
    monkeypatch.setenv("TEXTARENA_DOWNLOAD_NLTK", "anything")
    monkeypatch.setenv("TEXTARENA_KW_MIN_NUMBER", "3")
    monkeypatch.setenv("TEXTARENA_KW_max_number", "4000")
    environment = TextArenaEnvironment()
    _, first, refused, last = episode(environment, 1, ["[4]", "[1]", "[5]"])
    assert not first.done
    assert refused.valid is False
    assert (last.done, last.truncated, last.success, last.reward) == (True, True, None, 0.0)
    state = environment.state
    assert (state.env_id, state.max_turns, state.turn, state.step_count) == ("GuessTheNumber-v0", 2, 2, 3)
    assert "4000" in first.prompt


def test_arguments_given_in_code_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTARENA_ENV_ID", "Sudoku-v0")
    monkeypatch.setenv("TEXTARENA_KW_CLUES", "50")
    board = read_board(TextArenaEnvironment().reset(seed=1).delta)
    assert board is not None
    assert sum(row.count(0) for row in board) == 31
    environment = TextArenaEnvironment("Wordle-v0", num_players=1, download_nltk=True, env_kwargs={"num_guesses": 3})
    assert environment.reset().guesses_left == 3


@pytest.mark.parametrize(
    ("variable", "text", "hint"),
    [
        ("TEXTARENA_ENV_ID", "Wordle-v9", "Wordle-v0"),
        ("TEXTARENA_ENV_ID", "", None),
        ("TEXTARENA_NUM_PLAYERS", "abc", "whole number"),
        ("TEXTARENA_NUM_PLAYERS", "0", "whole number"),
        ("TEXTARENA_NUM_PLAYERS", "2", "must be 1 for Wordle-v0"),
        ("TEXTARENA_MAX_TURNS", "-1", "whole number"),
        ("TEXTARENA_MAX_TURNS", "1.5", "whole number"),
        ("TEXTARENA_KW_", "1", "lacks a name"),
        ("TEXTARENA_KW_WORDLENGTH", "5", "it knows word_length, num_guesses, hardcore"),
        ("TEXTARENA_KW_WORD_LENGTH", "five", "valid integer"),
        ("TEXTARENA_KW_HARDCORE", "maybe", "boolean"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, hint: str | None
) -> None:
    monkeypatch.setenv(variable, text)
    if hint is None:
        assert TextArenaEnvironment().reset(seed=1).guesses_left == 6
        return
    with pytest.raises(ConfigurationError, match=hint) as caught:
        TextArenaEnvironment()
    assert variable in caught.value.message


def test_an_argument_that_the_game_itself_refuses() -> None:
    environment = TextArenaEnvironment("PegJump-v0", env_kwargs={"initial_empty": "99"})
    with pytest.raises(ConfigurationError, match=r"PegJump-v0.*initial_empty=99.*1-15"):
        environment._recipe.try_build()
    with pytest.raises(ConfigurationError, match="no word of 40 letters"):
        TextArenaEnvironment("Wordle-v0", env_kwargs={"word_length": 40})._recipe.try_build()


def test_lists_are_read_as_json() -> None:
    environment = TextArenaEnvironment("Bandit-v0", env_kwargs={"buttons": '["red", "blue"]', "num_turns": "1"})
    environment.reset(seed=1)
    act(environment, "[red]")
    assert act(environment, "[blue]").done


def test_variants_choose_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spec.variants is not None
    assert {"wordle", "sudoku"} <= set(spec.variants)
    for variables in spec.variants.values():
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        environment = TextArenaEnvironment(env_kwargs={})
        assert environment.reset(seed=1).metadata["env_id"] == variables["TEXTARENA_ENV_ID"]


def test_quick_games_run_on_the_servers_loop_and_others_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for env_id, execution in (("Wordle-v0", "inline"), ("Wordle-v0-hardcore", "inline"), ("Sudoku-v0", "thread")):
        monkeypatch.setenv("TEXTARENA_ENV_ID", env_id)
        traits = traits_of(_environment_class())
        assert (traits.execution, traits.concurrency_safe) == (execution, True)
    monkeypatch.setenv("TEXTARENA_NUM_PLAYERS", "x")
    assert traits_of(_environment_class()).execution == "thread"
