"""Environments that are hard to show, and one whose action has a field of every kind."""

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from openenv_core.environment import Environment
from openenv_core.rendering import Cell, Grid, Html, Labelled, Part, Picture, Text
from openenv_core.types import Action, Image, Observation, State

__all__ = ["HOSTILE", "LONG", "Gallery", "Kinds"]

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> \x1b[31mred\x1b[0m\x07"
LONG = "0123456789abcdef" * (5 * 2**20 // 16)


class Show(Action):
    """Show something."""

    what: Literal["hostile", "long", "picture", "html", "grid", "hooked", "broken", "odd"]


class Seen(Observation):
    """What is shown."""

    text: str = ""
    picture: Image | None = None
    hook: str = ""


def _picture() -> Image:
    import numpy

    across = numpy.linspace(0, 255, 3840, dtype=numpy.uint8)
    down = numpy.linspace(0, 255, 2160, dtype=numpy.uint8)
    picture = numpy.zeros((2160, 3840, 3), dtype=numpy.uint8)
    picture[:, :, 0], picture[:, :, 1] = across[None, :], down[:, None]
    return Image.from_array(picture)


class Gallery(Environment[Show, Seen, State]):
    """Shows what is hard to show."""

    concurrency_safe = True
    execution = "inline"

    def reset(self, *, seed: int | None = None) -> Seen:
        """Begin."""
        return Seen(text="begun")

    def step(self, action: Show) -> Seen:
        """Show it."""
        if action.what == "hostile":
            return Seen(text=HOSTILE)
        if action.what == "long":
            return Seen(text=LONG)
        if action.what == "picture":
            return Seen(picture=_picture())
        return Seen(text="the observation itself", hook=action.what)

    @staticmethod
    def render(observation: Seen) -> list[Part] | Any:
        """What a person sees."""
        if observation.hook == "html":
            return Html(
                "<p style='color: rgb(1, 2, 3)'>From the author</p><script>parent.document.title='taken'</script>"
                "<img src=x onerror=\"parent.document.title='taken'\"><img src='http://example.org/spy.png'>"
            )
        if observation.hook == "grid":
            return Grid(((Cell("#", "danger"), Cell("A", "own")), (Cell("", "empty"), Cell("G", "goal"))))
        if observation.hook == "hooked":
            return [
                Text(HOSTILE),
                Picture(Image.from_array([[[200, 30, 30]] * 40] * 20), "a red field", {"what": "grid"}),
            ]
        if observation.hook == "broken":
            raise RuntimeError("the author's mistake")
        return None

    @staticmethod
    def actions(observation: Seen) -> list[Any] | None:
        """What can be done by a click."""
        if observation.hook == "broken":
            raise RuntimeError("the author's mistake")
        if observation.hook == "odd":
            return [("cannot be sent", {"what": object()})]
        names = ("hostile", "long", "picture", "html", "grid", "hooked", "broken")
        return [Labelled({"what": name}, f"show {name}", name[0]) for name in names]


class Colour(Enum):
    """A few words."""

    RED = "red"
    GREEN = "green"


class Point(BaseModel):
    """A place."""

    x: Annotated[int, Field(ge=0, le=9)]
    y: Annotated[int, Field(ge=0, le=9)] = 0


class Walk(BaseModel):
    """Go."""

    kind: Literal["walk"] = "walk"
    steps: Annotated[int, Field(ge=1, le=5)]


class Talk(BaseModel):
    """Say something."""

    kind: Literal["talk"] = "talk"
    words: Annotated[str, Field(min_length=2, max_length=20)]


class Everything(Action):
    """Everything that a form can hold.

    Attributes:
        name: a text, told of in the docstring alone.
        share: not more than one.
    """

    name: Annotated[str, Field(min_length=1, max_length=10, pattern="^[a-z]+$")]
    count: Annotated[int, Field(ge=1, le=5)]
    share: Annotated[float, Field(gt=0, le=1)]
    colour: Colour
    sure: bool
    tags: list[Annotated[str, Field(max_length=5)]]
    place: Point
    move: Annotated[Walk | Talk, Field(discriminator="kind")]
    limit: Annotated[int, Field(ge=0)] | None = None
    note: str = ""
    points: list[Point] = Field(default_factory=list)
    even: int = 2

    def model_post_init(self, context: Any) -> None:
        """What only the server can check."""
        if self.note == "refused":
            raise ValueError("a note must not say that")


class Heard(Observation):
    """What was understood."""

    heard: str = ""


class Kinds(Environment[Everything, Heard, State]):
    """Says what it understood."""

    concurrency_safe = True
    execution = "inline"

    def reset(
        self,
        *,
        seed: int | None = None,
        level: Literal["easy", "hard"] = "easy",
        size: Annotated[int, Field(ge=2, le=8)] = 4,
    ) -> Heard:
        """Begin.

        Args:
            level: how hard it is.
            size: of the board.
        """
        return Heard(heard=f"{level}, {size}")

    def step(self, action: Everything) -> Heard:
        """Say it back."""
        return Heard(heard=action.model_dump_json(exclude={"metadata"}), reward=1.0, done=action.name == "end")
