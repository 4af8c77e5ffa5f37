"""Views as a page gets them."""

import base64
import json

from openenv_core.rendering import Cell, Choice, Grid, Html, Part, Picture, Question, Text, plain_parts, plain_questions
from openenv_core.rendering.plain import MAX_TEXT
from openenv_core.types import Image

IMAGE = Image.from_array([[[1, 2, 3], [4, 5, 6]]])
PNG = base64.b64encode(IMAGE.png).decode()


def test_every_part_says_what_it_is() -> None:
    parts: list[Part] = [Text("a", "notice", "b"), Grid(((Cell("x", "own", "m"), Cell("1", choice=0)),)), Html("<p>")]
    assert plain_parts(parts) == [
        {"kind": "text", "text": "a", "more": 0, "tone": "notice", "label": "b"},
        {
            "kind": "grid",
            "spaced": True,
            "rows": [
                [
                    {"text": "x", "tone": "own", "mark": "m"},
                    {"text": "1", "tone": "plain", "mark": "", "choice": 0},
                ]
            ],
        },
        {"kind": "html", "html": "<p>"},
    ]


def test_a_picture_of_the_observation_is_named_by_its_field() -> None:
    picture = Picture(IMAGE, "view", {"at": "{x},{y}"})
    [sent], [named] = plain_parts([picture]), plain_parts([picture], {"text": "a", "frame": PNG})
    assert (sent["png"], sent["size"], sent["click"]) == (PNG, [2, 1], {"at": "{x},{y}"})
    assert named["field"] == "frame"
    assert "png" not in named


def test_a_long_text_says_how_much_more_there_is() -> None:
    [cut] = plain_parts([Text("a" * (MAX_TEXT + 5))])
    assert (len(cut["text"]), cut["more"]) == (MAX_TEXT, 5)


def test_questions_have_a_json_form_whatever_their_bounds() -> None:
    [plain] = plain_questions([Question("n", "integer", (Choice(1, "one"),), low=0, template="[{}]")])
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["low"], plain["high"], plain["choices"], plain["template"]) == (
        0,
        None,
        [{"value": 1, "name": "one"}],
        "[{}]",
    )
