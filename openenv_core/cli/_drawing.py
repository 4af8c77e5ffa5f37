"""Views as a terminal shows them."""

import itertools
from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text as RichText

from openenv_core.rendering import Cell, Grid, Html, Part, Picture, Text, Tone, shortened, visible

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
    pieces: list[RenderableType] = []
    for part, following in itertools.zip_longest(shown := list(parts), shown[1:]):
        pieces.append(_grid(part, marked) if isinstance(part, Grid) else _text(part))
        if not (_is_labelled(part) and _is_labelled(following)):
            pieces.append(RichText())
    return Group(*pieces)


def _is_labelled(part: Part | None) -> bool:
    return isinstance(part, Text) and part.label != ""


def _text(part: Text | Picture | Html) -> RenderableType:
    if isinstance(part, Picture):
        width, height = part.image.size
        return RichText(
            f"({visible(part.description)}: {width} x {height} pixels, which a terminal cannot show)", "dim"
        )
    if isinstance(part, Html):
        return RichText(shortened(visible(part.text)))
    text = shortened(part.text)
    if part.label:
        gap = "\n" if "\n" in text else " "
        text = f"{part.label}:{gap}{text}"
    return RichText(text, style=_STYLES[part.tone])


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
