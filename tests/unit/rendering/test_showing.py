"""The author's view goes before the framework's, and cannot break anything."""

import logging
from typing import Any

import pytest

from openenv_core.environment import Environment, EnvironmentSpec
from openenv_core.rendering import Hooks, Labelled, Showing, Text, view_of
from openenv_core.types import Action, Observation, State


class Seen(Observation):
    text: str = ""


class World(Environment[Action, Seen, State]):
    @staticmethod
    def render(observation: Seen) -> str | None:
        if observation.text == "break":
            raise RuntimeError("the author's mistake")
        return None if observation.text == "plain" else f"<{observation.text}>"

    @staticmethod
    def actions(observation: Seen) -> list[Any]:
        return [(observation.text, {"a": 1})]


def values(text: str) -> dict[str, Any]:
    return Seen(text=text).model_dump(mode="json")


SHOWING = Showing.of(EnvironmentSpec(name="world", factory=World, client=""))


def test_the_author_s_functions_get_the_model() -> None:
    assert SHOWING.parts([values("x")], {}) == [Text("<x>")]
    assert SHOWING.parts([values("x")], {}, Seen(text="y")) == [Text("<y>")]
    assert SHOWING.labelled(values("x")) == [Labelled({"a": 1}, "x")]


def test_what_the_author_leaves_is_shown_by_the_framework() -> None:
    assert SHOWING.own_parts(values("plain")) is None
    assert SHOWING.parts([values("plain")], {}) == view_of([values("plain")], {})
    assert Showing().parts([values("x")], {}) == view_of([values("x")], {})
    assert Showing().labelled(values("x")) is None


def test_a_fault_of_the_author_costs_his_view_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert SHOWING.parts([values("break")], {}) == view_of([values("break")], {})
        assert SHOWING.parts([{"of": "another kind"}], {}) == view_of([{"of": "another kind"}], {})
    assert "the author's mistake" in caplog.text


def test_without_a_model_the_functions_get_plain_values() -> None:
    assert Showing(Hooks(lambda seen: seen["text"])).parts([{"text": "x"}], {}) == [Text("x")]
