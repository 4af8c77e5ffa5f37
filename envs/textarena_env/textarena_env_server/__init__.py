"""Server of the TextArena environment."""

from random import Random

from openenv_core.environment import EnvironmentSpec
from openenv_core.errors import ConfigurationError
from textarena_env.models import TextArenaAction, TextArenaObservation
from textarena_env_server.environment import InlineTextArenaEnvironment, TextArenaEnvironment
from textarena_env_server.games import GameStatus, find_game, runnable_games
from textarena_env_server.players import sample_move
from textarena_env_server.settings import KEYWORD_PREFIX, TextArenaSettings

__all__ = ["GameStatus", "TextArenaEnvironment", "runnable_games", "spec"]

_QUICK = ("Wordle", "GuessTheNumber", "Hangman", "Mastermind", "Minesweeper", "2048", "TowerOfHanoi")
"""Games whose reset and step take microseconds."""


_EXAMPLES = {"Wordle": "[crane]", "Sudoku": "[5 3 7]"}
_TOOLS = {"Wordle": "textarena_env.tools:WordleTools", "Sudoku": "textarena_env.tools:SudokuTools"}


def _family() -> str:
    """The game which the environment variables choose, without its variant."""
    try:
        return TextArenaSettings.from_environ().env_id.partition("-")[0]
    except ConfigurationError:
        # Listing what is installed must not fail over a variable; starting the server says what is wrong with it.
        return ""


def _environment_class() -> type[TextArenaEnvironment]:
    """The class that fits the game."""
    return InlineTextArenaEnvironment if _family() in _QUICK else TextArenaEnvironment


def _example_action() -> dict[str, str] | None:
    example = _EXAMPLES.get(_family())
    return None if example is None else {"message": example}


def _sample_action(observation: TextArenaObservation, random: Random) -> TextArenaAction:
    return TextArenaAction(message=sample_move(observation, random))


def _check() -> None:
    """Refuse variables with which no game can be built."""
    find_game(TextArenaSettings.from_environ()).try_build()


spec = EnvironmentSpec(
    name="textarena_env",
    factory=_environment_class(),
    client="textarena_env:TextArenaEnv",
    description="Text games for one player from TextArena: Wordle, Sudoku and others.",
    demo="textarena_env_server.demo:play",
    sample_action=_sample_action,
    example_action=_example_action(),
    tools=_TOOLS.get(_family()),
    variants={
        "wordle": {"TEXTARENA_ENV_ID": "Wordle-v0"},
        "sudoku": {"TEXTARENA_ENV_ID": "Sudoku-v0"},
    },
    variables={
        "TEXTARENA_ENV_ID": "the game's id",
        "TEXTARENA_NUM_PLAYERS": "number of players, all moved by the one client",
        "TEXTARENA_MAX_TURNS": "accepted moves after which an episode is truncated",
        f"{KEYWORD_PREFIX}<NAME>": "argument <name> of the game's constructor",
    },
    games="textarena_env_server.games:runnable_games",
    check=_check,
)
