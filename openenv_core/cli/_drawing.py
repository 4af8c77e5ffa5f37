"""Views as a terminal shows them."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text as RichText

from openenv_core.rendering import Cell, Grid, Part, Text, Tone

__all__ = ["draw"]

_STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "empty": "dim",
    "right": "bold black on green",
    "near": "bold black on yellow",
    "wrong": "bold white on grey37",
    "own": "bold cyan",
    "other": "bold magenta",
    "goal": "bold green",
    "danger": "red",
    "notice": "bold yellow",
}


def draw(parts: Iterable[Part], console: Console) -> RenderableType:
    """The parts below each other. Where there are no colours, marks stand in for them."""
    marked = console.color_system is None or console.no_color
    drawn = [_grid(part, marked) if isinstance(part, Grid) else _text(part) for part in parts]
    return Group(*(piece for item in drawn for piece in (item, RichText())))


def _text(part: Text) -> RenderableType:
    return RichText(part.text, style=_STYLES[part.tone])


def _grid(grid: Grid, marked: bool) -> RenderableType:
    if not grid.spaced:
        rows = [RichText().join(_close_cell(cell, marked) for cell in row) for row in grid.rows]
        return Padding(RichText("\n").join(rows), (0, 0, 0, 2), expand=False)
    cells = [cell for row in grid.rows for cell in row]
    shown = marked and any(cell.mark for cell in cells)
    tiles = any(" on " in _STYLES[cell.tone] for cell in cells) or any(cell.mark for cell in cells)
    width = max((len(_face(cell, shown)) for cell in cells), default=1) + 2 * tiles
    lines = [RichText(" ").join(_cell(cell, width, shown) for cell in row) for row in grid.rows]
    return Padding(RichText("\n").join(lines), (0, 0, 0, 2), expand=False)


def _close_cell(cell: Cell, marked: bool) -> RichText:
    if not cell.mark:
        return RichText(cell.text, style=_STYLES[cell.tone])
    return RichText(cell.mark if marked else cell.text, style=f"{_STYLES[cell.tone]} reverse")


def _face(cell: Cell, shown: bool) -> str:
    return f"{cell.text}:{cell.mark}" if shown and cell.mark else cell.text


def _cell(cell: Cell, width: int, shown: bool) -> RichText:
    return RichText(_face(cell, shown).center(width), style=_STYLES[cell.tone])
