"""What a view is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from openenv_core.types import Image

__all__ = ["Cell", "Grid", "Html", "Labelled", "Mark", "Part", "Picture", "Text", "Tone"]

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
        choice: the action that the cell stands for, as the one question of a move takes it; ``None`` where there is
            none. A page lets a person click it.
    """

    text: str
    tone: Tone = "plain"
    mark: str = ""
    choice: Any = None


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
    """Lines of text, already made visible (:func:`~openenv_core.rendering.text.visible`), under a label or none."""

    text: str
    tone: Tone = "plain"
    label: str = ""


@dataclass(frozen=True)
class Mark:
    """A place in a picture where a click does an action.

    Attributes:
        label: what stands there.
        box: the left edge, the top, width and height, in pixels of the picture.
        labelled: the action, and what it is called.
    """

    label: str
    box: tuple[float, float, float, float]
    labelled: "Labelled"


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        image: the picture itself.
        description: what a person who does not see it is told.
        click: an action in whose texts ``{x}`` and ``{y}`` stand for the pixel that was clicked; ``None`` where a click
            means nothing. A terminal cannot show pictures, and says so.
        marks: places in it that have a name.
    """

    image: Image
    description: str = "picture"
    click: Mapping[str, Any] | None = None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Html:
    """A document that a page shows in a frame of its own: scripts do not run there, and nothing is loaded.

    Attributes:
        html: the document, or a piece of one.
        text: what a terminal shows in its place.
    """

    html: str
    text: str = "(a document, which a terminal cannot show)"


Part = Grid | Text | Picture | Html


@dataclass(frozen=True)
class Labelled:
    """An action with a name, done by one click or one key.

    Attributes:
        action: the action, as a mapping or a model.
        label: what it is called.
        key: the key that does it in a page, as browsers name it (``ArrowLeft``, ``a``, a space); empty for none.
        draft: it is to be completed first: a click puts it into the form instead of doing it.
    """

    action: Any
    label: str
    key: str = ""
    draft: bool = False
