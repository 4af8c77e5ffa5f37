"""Wordle and Sudoku as tools for a language model, and the reward functions that the public guides use for them."""

from collections import Counter
from typing import Any, Literal

from openenv_core.training import ToolEnvironment, reward_function
from openenv_core.types import StepResult
from textarena_env.board import Board, candidates, draw, read_board
from textarena_env.client import TextArenaEnv
from textarena_env.models import TextArenaAction, TextArenaObservation

__all__ = [
    "SUDOKU_PROMPT",
    "WORDLE_PROMPT",
    "SudokuTools",
    "WordleTools",
    "sudoku_correct_reward",
    "sudoku_empty_cell_reward",
    "sudoku_progress_reward",
    "sudoku_repetition_reward",
    "sudoku_valid_moves_reward",
    "wordle_invalid_reward",
    "wordle_partial_reward",
    "wordle_win_reward",
]

WORDLE_PROMPT = """You play Wordle: find a five-letter English word in six guesses. After each guess every letter is \
marked: G, it is right; Y, it is in the word but elsewhere; X, it is not in the word. Use the tool `guess` until the \
game is over, and use what you have learned from the guesses before."""

SUDOKU_PROMPT = """You play Sudoku. Fill the empty cells, shown as a dot, so that every row, every column and every \
three by three box holds the numbers 1 to 9 once. Use the tool `place` until the board is full. A second wrong move in \
a row ends the game."""

_SPEED_BONUS = 0.1
_INVALID_COST = 0.1
_MOST_HINTS = 10


class _TextArenaTools(ToolEnvironment[TextArenaEnv]):
    """What the games have in common."""

    client_type = TextArenaEnv

    def _move(self, message: str) -> StepResult[TextArenaObservation]:
        result = self._step(TextArenaAction(message=message))
        if result.observation.valid is False:
            self.episode.invalid_actions += 1
        return result


class WordleTools(_TextArenaTools):
    """Guess words. The server plays ``Wordle-v0``."""

    prompt = WORDLE_PROMPT
    server_variables = {"TEXTARENA_ENV_ID": "Wordle-v0"}

    def _forget(self) -> None:
        self._best = 0.0
        self._left = 0

    def guess(self, word: str) -> str:
        """Guess the word.

        Args:
            word: Five letters.

        Returns:
            A mark for each letter (G right, Y elsewhere in the word, X not in it), and how many guesses are left.
        """
        seen = self._move(f"[{word.strip().strip('[]')}]").observation
        self._left = seen.guesses_left or 0
        if seen.feedback is None:
            return f"That does not count: {seen.info.get('invalid_reason') or seen.delta.strip()}"
        self._best = max(self._best, _share(seen.feedback))
        marks = f"{' '.join(str(seen.guess).upper())}\n{' '.join(seen.feedback)}"
        if seen.done:
            return f"{marks}\n{'You found the word.' if seen.success else str(seen.info.get('reason', 'It is over.'))}"
        return f"{marks}\n{self._left} guesses left."


def _share(feedback: str) -> float:
    """A letter in its place counts one, elsewhere one half; 1.0 for the word itself."""
    marks = Counter(feedback)
    return (marks["G"] + 0.5 * marks["Y"]) / len(feedback)


@reward_function(WordleTools)
def wordle_win_reward(tools: WordleTools) -> float:
    """1 for the word, and 0.1 for each guess that was left; 0 otherwise."""
    return 1.0 + _SPEED_BONUS * tools._left if tools.success else 0.0


@reward_function(WordleTools)
def wordle_partial_reward(tools: WordleTools) -> float:
    """The best guess: the share of letters in their place, those elsewhere in the word by half; 0 to 1."""
    return tools._best


@reward_function(WordleTools)
def wordle_invalid_reward(tools: WordleTools) -> float:
    """-0.1 for each guess that did not count."""
    return -_INVALID_COST * tools.episode.invalid_actions


class SudokuTools(_TextArenaTools):
    """Place numbers. The server plays ``Sudoku-v0``.

    Args:
        base_url: the server.
        hints: ``"easy"`` tells the numbers that fit the cells with the fewest, ``"medium"`` those of the first empty
            cells, ``"hard"`` none.
        max_moves: the game ends after so many calls; ``None`` for no limit of ours.
        **arguments: of the base.
    """

    prompt = SUDOKU_PROMPT
    server_variables = {"TEXTARENA_ENV_ID": "Sudoku-v0"}

    def __init__(
        self,
        base_url: str,
        *,
        hints: Literal["easy", "medium", "hard"] = "easy",
        max_moves: int | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(base_url, **arguments)
        self._hints = hints
        self._max_moves = max_moves
        self._forget()

    def _forget(self) -> None:
        self._board: Board = []
        self._given = 0
        self._tried: Counter[tuple[int, int, int]] = Counter()
        self._scores: dict[str, list[float]] = {"empty": [], "valid": [], "repeated": []}

    def place(self, row: int, column: int, number: int) -> str:
        """Put a number into an empty cell.

        Args:
            row: Row of the cell, 1 to 9.
            column: Column of the cell, 1 to 9.
            number: The number, 1 to 9.

        Returns:
            Whether the move was right, and the board.
        """
        move = row, column, number
        is_empty = 1 <= row <= 9 and 1 <= column <= 9 and bool(self._board) and not self._board[row - 1][column - 1]
        seen = self._move(f"[{row} {column} {number}]").observation
        self._score(move, is_empty=is_empty, is_valid=bool(seen.valid))
        self._board = read_board(seen.delta) or self._board
        if self._max_moves is not None and self.episode.steps >= self._max_moves and not self.episode.done:
            self.episode.done = self.episode.truncated = True
        verdict = "right" if seen.valid else f"wrong. {seen.info.get('invalid_reason') or ''}".strip()
        told = f"Move {list(move)}: {verdict}\n{draw(self._board)}"
        if self.episode.done:
            return f"{told}\n{'The board is full.' if seen.success else 'The game is over.'}"
        return told + self._hint()

    def _first_message(self, result: StepResult[Any]) -> str:
        seen = result.observation
        self._board = read_board(seen.delta) or read_board(seen.prompt) or []
        self._given = _filled(self._board)
        return draw(self._board) + self._hint()

    def _score(self, move: tuple[int, int, int], *, is_empty: bool, is_valid: bool) -> None:
        before = self._tried[move]
        self._tried[move] += 1
        self._scores["empty"].append(1.0 if is_empty else -1.0)
        self._scores["repeated"].append(-min(2.0 ** (before - 1), 10.0) if before else 0.0)
        self._scores["valid"].append((0.0 if before else 1.0) if is_valid else -0.5)

    def _hint(self) -> str:
        if self._hints == "hard" or not self._board:
            return ""
        cells = candidates(self._board)
        if self._hints == "easy":
            cells.sort(key=lambda cell: len(cell[2]))
        told = [f"row {row} column {column}: {', '.join(map(str, fits))}" for row, column, fits in cells[:_MOST_HINTS]]
        return "\nNumbers that fit: " + "; ".join(told) if told else ""


def _filled(board: Board) -> int:
    return sum(1 for row in board for cell in row if cell)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@reward_function(SudokuTools)
def sudoku_empty_cell_reward(tools: SudokuTools) -> float:
    """The mean over all moves of 1 for a cell that was empty and -1 for any other."""
    return _mean(tools._scores["empty"])


@reward_function(SudokuTools)
def sudoku_valid_moves_reward(tools: SudokuTools) -> float:
    """The mean over all moves of 1 for a right one, 0 for one that was made before, -0.5 for a wrong one."""
    return _mean(tools._scores["valid"])


@reward_function(SudokuTools)
def sudoku_repetition_reward(tools: SudokuTools) -> float:
    """Minus the mean cost of a move: 0 for a new one, 1 for its first repetition, then doubled each time up to 10."""
    return _mean(tools._scores["repeated"])


@reward_function(SudokuTools)
def sudoku_progress_reward(tools: SudokuTools) -> float:
    """The share of the empty cells that was filled, 0 to 1."""
    empty = 81 - tools._given
    return (_filled(tools._board) - tools._given) / empty if empty and tools._board else 0.0


@reward_function(SudokuTools)
def sudoku_correct_reward(tools: SudokuTools) -> float:
    """1 for a solved board; otherwise 0."""
    return 1.0 if tools.success else 0.0
