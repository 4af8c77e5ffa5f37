"""The tools that come with the clients, played on their servers."""

from collections.abc import Iterator
from typing import Any

import pytest

from echo_env.tools import EchoTools, echo_reward
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import ToolCallError, ToolEnvironment, tool_names, tool_problems
from openspiel_env.tools import CatchTools, catch_reward, catch_win_reward
from textarena_env.board import candidates, draw, read_board
from textarena_env.tools import (
    SudokuTools,
    WordleTools,
    sudoku_correct_reward,
    sudoku_empty_cell_reward,
    sudoku_progress_reward,
    sudoku_repetition_reward,
    sudoku_valid_moves_reward,
    wordle_invalid_reward,
    wordle_partial_reward,
    wordle_win_reward,
)
from textarena_env_server.players import WordleSolver, sudoku_moves


@pytest.fixture(scope="module", params=["Wordle-v0", "Sudoku-v0"])
def arena(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A server of each game: its name and address."""
    game: str = request.param
    with ProcessRuntime("textarena_env_server:spec", env_vars={"TEXTARENA_ENV_ID": game}) as runtime:
        yield game, runtime.base_url


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (EchoTools, ["echo"]),
        (CatchTools, ["move", "stay"]),
        (WordleTools, ["guess"]),
        (SudokuTools, ["place"]),
    ],
)
def test_a_model_is_shown_these_tools(tools: type[ToolEnvironment[Any]], names: list[str]) -> None:
    assert tool_names(tools) == names
    assert tool_problems(tools) == []


def test_echo() -> None:
    with ProcessRuntime("echo_env_server:spec") as runtime:
        tools = EchoTools(runtime.base_url)
        tools.reset(seed=1)
        assert tools.echo("hello") == "hello"
        assert echo_reward(environments=[tools]) == [0.5]
        tools._close()


def test_catch_is_won_by_following_what_the_tools_tell() -> None:
    with ProcessRuntime("openspiel_env_server:spec") as runtime:
        tools = CatchTools(runtime.base_url, rows=5)
        for seed in range(4):
            seen = str(tools.reset(seed=seed, prompt=[]))
            assert seen == str(tools.reset(seed=seed, prompt=[])), "a seed is a start"
            while not tools.done:
                seen = (
                    tools.move("left")
                    if "to the left" in seen
                    else tools.move("right")
                    if "to the right" in seen
                    else tools.stay()
                )
            assert seen == "You caught the ball."
            assert catch_reward(environments=[tools]) == catch_win_reward(environments=[tools]) == [1.0]
        tools.reset(seed=0)
        with pytest.raises(ValueError, match="must be 'left' or 'right'"):
            tools.move("up")  # type: ignore[arg-type]
        assert catch_reward(environments=[tools]) == [0.0]
        tools._close()


def test_textarena(arena: tuple[str, str]) -> None:
    game, base_url = arena
    (play_wordle if game == "Wordle-v0" else play_sudoku)(base_url)


def play_wordle(base_url: str) -> None:
    tools = WordleTools(base_url)
    rewards = wordle_win_reward, wordle_partial_reward, wordle_invalid_reward
    assert "Wordle" in str(tools.reset(seed=3))
    assert "does not count" in tools.guess("zzzzz")
    assert [reward(environments=[tools]) for reward in rewards] == [[0.0], [0.0], [-0.1]]
    solver, told, guesses = WordleSolver(), "", 0
    while not tools.done:
        word = solver.guess()
        told = tools.guess(f"[{word}]")
        guesses += 1
        solver.learn(word, told.splitlines()[1].replace(" ", ""))
    assert tools.success
    assert told.endswith("You found the word.")
    assert wordle_win_reward(environments=[tools]) == [pytest.approx(1 + 0.1 * (6 - guesses))]
    assert wordle_partial_reward(environments=[tools]) == [1.0]
    with pytest.raises(ToolCallError):
        tools.guess("crane")
    tools._close()


def play_sudoku(base_url: str) -> None:
    tools = SudokuTools(base_url, hints="easy")
    first = str(tools.reset(seed=3))
    board = read_board(first.replace("\n\n", "\n"))
    assert board is not None
    assert draw(board) in first
    assert "Numbers that fit: row" in first
    moves = [[int(number) for number in move.strip("[]").split()] for move in sudoku_moves(board)]
    row, column, number = moves[0]
    wrong = next(other for other in range(1, 10) if other != number)
    assert "wrong" in tools.place(row, column, wrong)
    assert tools.episode.invalid_actions == 1
    assert sudoku_valid_moves_reward(environments=[tools]) == [-0.5]
    for move in moves:
        told = tools.place(*move)
    assert told.endswith("The board is full.")
    assert sudoku_correct_reward(environments=[tools]) == sudoku_progress_reward(environments=[tools]) == [1.0]
    assert sudoku_empty_cell_reward(environments=[tools]) == [1.0]
    assert sudoku_repetition_reward(environments=[tools]) == [0.0]
    tools.reset(seed=4)
    assert sudoku_progress_reward(environments=[tools]) == [0.0]
    tools._close()


def test_what_fits_into_a_board() -> None:
    board = [[0] * 9 for _ in range(9)]
    board[0][1:] = [1, 2, 3, 4, 5, 6, 7, 8]
    assert candidates(board)[0] == (1, 1, [9])
    assert read_board(draw(board)) == board
    assert read_board("nothing") is None
