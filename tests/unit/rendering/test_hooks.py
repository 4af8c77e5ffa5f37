"""What authors say of how their environments are shown."""

from typing import Any

import pytest

from openenv_core.rendering import Cell, Grid, Hooks, Html, Labelled, Picture, Text, hooks_of
from openenv_core.types import Action, Image

IMAGE = Image.from_array([[[1, 2, 3]]])


class Move(Action):
    x: int = 0


class World:
    @staticmethod
    def render(observation: Any) -> str:
        return f"seen: {observation}"

    @staticmethod
    def actions(observation: Any) -> list[Any]:
        return [("right", Move(x=1)), Labelled({"x": 2}, "far\x1b", "r")]


class Gymnasium:
    def render(self) -> str:
        return "something else"


def test_static_methods_of_a_class_are_its_hooks_and_what_is_given_comes_first() -> None:
    assert hooks_of(World).parts("\x1b[31m") == [Text("seen: \\x1b[31m")]
    assert hooks_of(World, lambda _: [Text("other")]).parts(0) == [Text("other")]


def test_a_method_that_is_not_static_is_something_else() -> None:
    assert hooks_of(Gymnasium).parts(0) is None
    assert hooks_of(None).labelled(0) is None


def test_everything_that_may_be_shown() -> None:
    shown = ["a", Text("b\x07", "notice", "l\x07"), Grid((("x", Cell("\x1b", "own")),)), IMAGE, Html("<p>")]  # type: ignore[arg-type]
    assert Hooks(lambda _: shown).parts(0) == [
        Text("a"),
        Text("b\\x07", "notice", "l\\x07"),
        Grid(((Cell("x"), Cell("\\x1b", "own")),)),
        Picture(IMAGE),
        Html("<p>"),
    ]
    assert Hooks(lambda _: None).parts(0) is None


def test_actions_are_plain_values_with_a_label() -> None:
    assert hooks_of(World).labelled(0) == [Labelled({"x": 1}, "right"), Labelled({"x": 2}, "far\\x1b", "r")]


@pytest.mark.parametrize("shown", [3, [None], {"a": 1}])
def test_anything_else_is_refused(shown: Any) -> None:
    with pytest.raises(TypeError, match="render gave"):
        Hooks(lambda _: shown).parts(0)


@pytest.mark.parametrize("offered", [[3], [("only a label",)]])
def test_an_action_without_a_label_is_refused(offered: Any) -> None:
    with pytest.raises(TypeError, match="label"):
        Hooks(actions=lambda _: offered).labelled(0)
