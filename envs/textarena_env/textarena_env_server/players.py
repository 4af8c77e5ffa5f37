"""Players who know only what an observation shows: for the demonstration and for checks that need legal moves."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from random import Random
from typing import Final

from textarena_env.models import TextArenaObservation
from textarena_env_server.words import allowed_words

__all__ = ["WordleSolver", "marks", "read_board", "sample_move", "solve_sudoku", "sudoku_moves"]

Board = list[list[int]]

_WALK: Final = ("[up]", "[down]", "[left]", "[right]")
_MOVES: Final[dict[str, Sequence[str]]] = {
    "2048": _WALK,
    "Bandit": ("[red]", "[blue]", "[green]", "[yellow]", "[purple]"),
    "Blackjack": ("[Hit]", "[Stand]"),
    "FifteenPuzzle": _WALK,
    "FrozenLake": _WALK,
    "GuessTheNumber": [f"[{number}]" for number in range(1, 21)],
    "Hangman": [f"[{letter}]" for letter in "abcdefghijklmnopqrstuvwxyz"],
    "LightsOut": [f"[{row} {column}]" for row in range(5) for column in range(5)],
    "Minesweeper": [f"[{row} {column}]" for row in range(5) for column in range(5)],
    "Mastermind": [f"[{a} {b} {c} {d}]" for a, b, c, d in permutations(range(1, 7), 4)],
    "Secretary": ("[accept]", "[continue]"),
    "Set": [f"[{a}, {b}, {c}]" for a, b, c in combinations(range(1, 13), 3)],
    "Sokoban": _WALK,
    "ThreeCardMonte": ("[0]", "[1]", "[2]"),
    "TowerOfHanoi": ("[A B]", "[A C]", "[B A]", "[B C]", "[C A]", "[C B]"),
}
"""Moves that have the form which a game wants; whether one fits the position is for the game to say."""


def sample_move(observation: TextArenaObservation, random: Random) -> str:
    """A move for the game that the observation comes from, of the form that the game wants.

    In Wordle it is a word that counts, and in Sudoku it is right.
    """
    game = str(observation.metadata.get("env_id", "")).partition("-")[0]
    if game == "Wordle":
        length = re.search(r"(\d+)-letter", observation.prompt)
        return f"[{random.choice(allowed_words(int(length[1]) if length else 5))}]"
    if game == "Sudoku":
        board = read_board(_transcript(observation))
        move = next(sudoku_moves(board), None) if board else None
        return move or "[1 1 1]"
    return random.choice(_MOVES.get(game, ("[1]",)))


def _transcript(observation: TextArenaObservation) -> str:
    return "".join(message.content for message in observation.messages)


class WordleSolver:
    """Plays Wordle by elimination over the list of allowed words.

    Args:
        length: number of letters.
    """

    def __init__(self, length: int = 5) -> None:
        self.candidates: list[str] = list(allowed_words(length))
        self._tried: set[str] = set()

    def guess(self) -> str:
        """The candidate whose letters, counted once each, are the most frequent among the candidates."""
        frequency = Counter(letter for word in self.candidates for letter in set(word))
        words = [word for word in self.candidates if word not in self._tried] or self.candidates
        choice = max(words, key=lambda word: (sum(frequency[letter] for letter in set(word)), word))
        self._tried.add(choice)
        return choice

    def learn(self, guess: str, feedback: str) -> None:
        """Keep the words that would have given the same feedback."""
        self.candidates = [word for word in self.candidates if marks(guess, word) == feedback]


def marks(guess: str, secret: str) -> str:
    """What Wordle would answer to ``guess`` if ``secret`` were the word: greens first, then yellows from the left."""
    left = Counter(there for here, there in zip(guess, secret, strict=True) if here != there)
    found = []
    for here, there in zip(guess, secret, strict=True):
        if here == there:
            found.append("G")
        elif left[here] > 0:
            left[here] -= 1
            found.append("Y")
        else:
            found.append("X")
    return "".join(found)


def read_board(text: str) -> Board | None:
    """The last Sudoku board of a transcript, 0 for an empty cell; ``None`` where there is none."""
    rows = re.findall(r"^R\d +([\d. |]+)$", text, re.MULTILINE)[-9:]
    board = [[0 if cell == "." else int(cell) for cell in re.findall(r"[\d.]", row)] for row in rows]
    return board if len(board) == 9 and all(len(row) == 9 for row in board) else None


def sudoku_moves(board: Board) -> Iterator[str]:
    """The moves that complete a board, from the top left."""
    solved = solve_sudoku(board)
    if solved is not None:
        for row in range(9):
            for column in range(9):
                if not board[row][column]:
                    yield f"[{row + 1} {column + 1} {solved[row][column]}]"


def solve_sudoku(board: Board) -> Board | None:
    """A completed copy of the board, or ``None`` if it cannot be completed."""
    cell = _tightest(board)
    if cell is None:
        return [list(row) for row in board]
    row, column, digits = cell
    for digit in digits:
        trial = [list(cells) for cells in board]
        trial[row][column] = digit
        solved = solve_sudoku(trial)
        if solved is not None:
            return solved
    return None


def _tightest(board: Board) -> tuple[int, int, Sequence[int]] | None:
    """The empty cell with the fewest digits that fit, with them; ``None`` if no cell is empty."""
    best: tuple[int, int, Sequence[int]] | None = None
    for row in range(9):
        for column in range(9):
            if board[row][column]:
                continue
            digits = _fitting(board, row, column)
            if best is None or len(digits) < len(best[2]):
                best = row, column, digits
    return best


def _fitting(board: Board, row: int, column: int) -> list[int]:
    top, left = row - row % 3, column - column % 3
    used = {*board[row], *(cells[column] for cells in board)}
    used.update(board[r][c] for r in range(top, top + 3) for c in range(left, left + 3))
    return [digit for digit in range(1, 10) if digit not in used]
