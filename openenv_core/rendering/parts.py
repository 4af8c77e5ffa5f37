"""What a view is made of."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Cell", "Grid", "Part", "Text", "Tone"]

Tone = Literal["plain", "empty", "right", "near", "wrong", "own", "other", "goal", "danger", "notice"]
"""What a cell or a text means, from which its colour follows. ``right``, ``near`` and ``wrong``: a guess. ``own`` and
``other``: pieces of the player and of everybody else. ``notice``: something that the player should not miss."""


@dataclass(frozen=True)
class Cell:
    """One cell of a grid.

    Attributes:
        text: what stands in it.
        tone: what it means.
        mark: the same in a letter, for a place without colours; empty where the text says it all.
    """

    text: str
    tone: Tone = "plain"
    mark: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows of cells, drawn with all columns equally wide.

    Attributes:
        rows: the cells.
        spaced: room is left between the cells; without it they are drawn close together, as they were written, and
            where there are no colours a mark takes the place of its cell's text.
    """

    rows: tuple[tuple[Cell, ...], ...]
    spaced: bool = True


@dataclass(frozen=True)
class Text:
    """Lines of text, already made visible (:func:`~openenv_core.rendering.text.visible`)."""

    text: str
    tone: Tone = "plain"


Part = Grid | Text
