"""Boards that environments write as lines of characters, read as cells."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from openenv_core.rendering.parts import Cell, Grid, Part, Text, Tone
from openenv_core.rendering.text import visible

__all__ = ["coloured_board", "game_board"]


@dataclass(frozen=True)
class _Kind:
    """How a game writes its board.

    Attributes:
        line: what a line of the board looks like.
        tones: what a character means; where there are two sides, ``x`` is the first player's.
        choose: ``"cell"`` or ``"column"`` where an action is one of the board's cells or columns.
    """

    line: str
    tones: Mapping[str, Tone]
    choose: str = ""


_SIDES: Final[Mapping[str, Tone]] = {"x": "own", "o": "other", ".": "empty"}
_KINDS: Final = {
    "catch": _Kind(r"[.xo]+", _SIDES),
    "tic_tac_toe": _Kind(r"[.xo]{3}", _SIDES, "cell"),
    "connect_four": _Kind(r"[.xo]+", _SIDES, "column"),
    "cliff_walking": _Kind(r"[.PXG]+", {"P": "own", "X": "danger", "G": "goal", ".": "empty"}),
    "2048": _Kind(r"(?: *\d+)+ *", {"0": "empty"}),
}
_UNNAMED: Final = _Kind(r"[.xo]{3,}", _SIDES)
"""What a board looks like where nobody says which game it is."""

_SWAPPED: Final[Mapping[Tone, Tone]] = {"own": "other", "other": "own"}


def game_board(text: str, game: str, legal: Collection[int] = (), seat: int = 0) -> list[Part]:
    """A text with a board in it: the lines before, the board, the lines after.

    Args:
        text: what the environment wrote.
        game: OpenSpiel's name of the game; of one that is not known the text is shown as it is. Empty: nobody says.
        legal: the actions that may be played; where an action is a cell or a column, the board shows its number.
        seat: the player's seat, counted from 0.
    """
    lines = visible(text).strip("\n").split("\n")
    kind = _KINDS.get(game) if game else _UNNAMED
    first, last = _block(lines, kind.line) if kind else (0, 0)
    if kind is None or last - first < (1 if game else 2):
        return [Text("\n".join(lines))]
    tones = kind.tones if seat == 0 else {sign: _SWAPPED.get(tone, tone) for sign, tone in kind.tones.items()}
    rows = [
        tuple(Cell(sign, tones.get(sign, "plain")) for sign in (line.split() if " " in line.strip() else line.strip()))
        for line in lines[first:last]
    ]
    around = ["\n".join(part).strip("\n") for part in (lines[:first], lines[last:])]
    before, after = ([Text(part)] if part else [] for part in around)
    return [*before, Grid(tuple(_numbered(rows, legal, kind.choose))), *after]


def _block(lines: list[str], pattern: str) -> tuple[int, int]:
    """The first run of lines that look like a board's, as a range."""
    first = next((index for index, line in enumerate(lines) if re.fullmatch(pattern, line)), len(lines))
    last = first
    while last < len(lines) and re.fullmatch(pattern, lines[last]):
        last += 1
    return first, last


def _numbered(rows: list[tuple[Cell, ...]], legal: Collection[int], choose: str) -> list[tuple[Cell, ...]]:
    if choose == "cell":
        width = len(rows[0])
        return [
            tuple(
                Cell(str(number), "empty", choice=number)
                if cell.tone == "empty" and (number := row * width + column) in legal
                else cell
                for column, cell in enumerate(cells)
            )
            for row, cells in enumerate(rows)
        ]
    if choose == "column":
        numbers = range(len(rows[0]))
        return [*rows, tuple(Cell(str(n), "empty", choice=n) if n in legal else Cell("", "empty") for n in numbers)]
    return rows


_COLOUR: Final = re.compile(r"\x1b\[([\d;]*)m")
_BACKGROUND: Final = re.compile(r"4[1-7]")
_TOY_TONES: Final[Mapping[str, Tone]] = {"S": "empty", "F": "empty", "H": "danger", "G": "goal"}
"""Of Frozen Lake, whose board has nothing but letters."""


def coloured_board(text: str) -> list[Part]:
    """A text in which an environment marks the player by a coloured background, as Gymnasium's toy texts do.

    Lines of equal length below each other are a board, one cell for each character; the colours are read and never
    passed on.
    """
    lines = [_cells(line) for line in text.strip("\n").split("\n")]
    parts: list[Part] = []
    plain: list[str] = []
    for length, run in groupby(lines, lambda cells: len(cells) if _is_row(cells) else 0):
        rows = tuple(run)
        if not length or len(rows) == 1:
            plain += ["".join(cell.text for cell in row) for row in rows]
            continue
        parts += [*_texts(plain), Grid(rows, spaced=all(cell.text.isalpha() for row in rows for cell in row))]
        plain = []
    return [*parts, *_texts(plain)]


def _texts(lines: list[str]) -> list[Part]:
    shown = visible("\n".join(lines)).strip("\n")
    return [Text(shown)] if shown.strip() else []


def _is_row(cells: tuple[Cell, ...]) -> bool:
    return len(cells) > 1 and cells[0].text != " " and all(cell.text.isprintable() for cell in cells)


def _cells(line: str) -> tuple[Cell, ...]:
    """One cell for each character of a line; its colours tell where the player is."""
    pieces = _COLOUR.split(line)
    is_all_letters = "".join(pieces[::2]).isalpha()
    tones = _TOY_TONES if is_all_letters else {}
    cells: list[Cell] = []
    is_here = False
    for index, piece in enumerate(pieces):
        if index % 2:
            is_here = any(_BACKGROUND.fullmatch(code) for code in piece.split(";"))
        else:
            cells += [Cell(sign, "own" if is_here else tones.get(sign, "plain"), "*" * is_here) for sign in piece]
    return tuple(cells)
