"""Which view an observation gets."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.rendering import Grid, Part, Picture, Text, view_of, visible
from openenv_core.types import Image

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def text_of(parts: list[Part]) -> str:
    return "\n".join(
        f"{part.label}: {part.text}" if part.label else part.text for part in parts if isinstance(part, Text)
    )


def test_the_fields_of_an_environment_of_which_nothing_is_known() -> None:
    seen = {"hint": "higher\x1b[31m", "tries": 3, "share": 1 / 3, "left": None, "metadata": {"a": 1}, "success": None}
    assert text_of(view_of([seen], {})) == "hint: higher\\x1b[31m\ntries: 3\nshare: 0.333333"


def test_a_single_text_stands_alone() -> None:
    assert view_of([{"hint": "higher\nlower", "metadata": {}}], {}) == [Text("higher\nlower")]


def test_long_lists_are_cut_and_broken_pictures_named() -> None:
    shown = text_of(view_of([{"numbers": list(range(100)), "frame": "iVBORw0KGgoAAAANS"}], {}))
    assert "23, … (76 more)]" in shown
    assert "iVBOR" not in shown


def test_a_field_with_a_picture_is_a_picture() -> None:
    image = Image.from_array([[[1, 2, 3]]])
    png = base64.b64encode(image.png).decode()
    shown = view_of([{"frame": png, "all": [png]}], {})
    assert shown == [Picture(image, "frame"), Text("[(a picture)]", label="all")]


def test_an_empty_observation_says_so() -> None:
    assert "empty" in text_of(view_of([{"metadata": {}}], {}))


def test_openspiel_is_shown_by_its_board_and_leaves_the_actions_to_the_question() -> None:
    seen = {"legal_actions": [0, 1], "text": ".o.\n.x.\nLegal actions: 0 = LEFT.", "info_state": [0.0], "metadata": {}}
    [board] = view_of([seen], {"game_name": "catch", "agent_player": 0})
    assert isinstance(board, Grid)


def test_textarena_shows_what_is_new_and_why_a_move_was_refused() -> None:
    seen = {
        "delta": "[GAME] Your turn.\x1b[0m",
        "messages": [{"content": "all of it"}],
        "info": {"invalid_reason": "no such row", "reason": ""},
    }
    assert view_of([seen], {"env_id": "Sudoku-v0"}) == [Text("Your turn.\\x1b[0m"), Text("no such row", "notice")]
    assert text_of(view_of([{**seen, "delta": "", "info": {}}], {})) == "all of it"


def test_gymnasiums_text_is_a_board_only_where_it_was_asked_for_as_text() -> None:
    seen = {"observation": 4, "text": "SF\n\x1b[41mH\x1b[0mG", "frame": None}
    board, rest = view_of([seen], {"gymnasium_id": "FrozenLake-v1", "render_mode": "ansi"})
    assert isinstance(board, Grid)
    assert rest == Text("4", label="observation")
    assert "\\x1b[41m" in text_of(view_of([seen], {}))


@pytest.mark.parametrize("name", ["text", "delta", "guess", "any"])
@given(values=st.dictionaries(st.sampled_from(["messages", "legal_actions", "info", "a\x1b"]), JSON), text=st.text())
def test_no_text_of_an_environment_steers_the_terminal(name: str, values: dict[str, Any], text: str) -> None:
    shown = {"messages": [], "legal_actions": [], **{key: values[key] for key in values if key == "a\x1b"}, name: text}
    for part in view_of([shown], {}):
        assert isinstance(part, Text | Grid)
        faces = [part.text, part.label] if isinstance(part, Text) else [cell.text for row in part.rows for cell in row]
        assert [face for face in faces if visible(face) != face] == []
