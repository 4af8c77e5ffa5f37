"""Models with every kind of field, to make instances of."""

import enum
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from openenv_core.types import Action, Image

__all__ = ["Everything", "Move", "Say", "Told", "Tree", "Tuned"]


class Colour(enum.Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


class Move(Action):
    """One member of a union, told by its kind."""

    kind: Literal["move"]
    steps: int = Field(ge=-3, lt=4, multiple_of=2)


class Say(Action):
    """The other."""

    kind: Literal["say"]
    text: str = Field(min_length=2, max_length=5)


class Tree(BaseModel):
    """A model within itself."""

    value: float = Field(gt=0, le=1)
    left: "Tree | None" = None
    children: list["Tree"] = []


class Inner(BaseModel):
    """A nested model."""

    names: dict[str, int] = Field(min_length=1)
    point: tuple[int, float, str]


class Everything(Action):
    """Every kind of field that an action may have."""

    flag: bool
    choice: Literal["a", "b", 3]
    colour: Colour
    inner: Inner
    few: list[Inner] = Field(min_length=1, max_length=3)
    unique: set[Annotated[int, Field(ge=0, le=5)]] = Field(min_length=2, max_length=4)
    word: str = Field(pattern=r"^[a-z]{3,5}(-[A-Z0-9]+)?$")
    optional: int | None = None
    either: int | str | list[bool] = 0
    union: Annotated[Move | Say, Field(discriminator="kind")]
    day: date
    moment: datetime
    wait: timedelta
    name: UUID
    picture: Image | None
    anything: Any = None
    raw: bytes = b""
    constant: Literal["only"] = "only"
    open_below: float = Field(lt=-1)
    half: float = Field(multiple_of=0.5, ge=1, le=3)


class Tuned(Action):
    """A field for which the author names sensible values."""

    word: str = Field(examples=["crane", "slate"])


Told = Annotated[Move | Say, Field(discriminator="kind")]
