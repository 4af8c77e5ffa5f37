"""What a person is asked for an action."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from openenv_core.rendering import Choice, Question, questions_of, summary_of
from openenv_core.rendering.questions import meanings_of
from openenv_core.types import Action


class Say(Action):
    """Say something.

    Attributes:
        message: what to say, for example
            ``hello``.
    """

    message: str


class Topping(BaseModel):
    """What goes on top."""

    name: str


class Order(Action):
    """Order a dish."""

    dish: Literal["soup", "bread", "brew"]
    count: int = Field(ge=1, le=5)
    weight: float | None = Field(gt=0)
    now: bool
    toppings: list[Topping]
    note: str = "none"


class Move(Action):
    """Play a numbered action."""

    action: int


def asked(model: type[Action], observation: dict[str, Any] | None = None, **facts: Any) -> tuple[Question, ...]:
    return questions_of(model.model_json_schema(), observation or {}, facts)


def test_one_text_is_typed_as_it_is() -> None:
    [question] = asked(Say)
    assert (question.field, question.kind) == ("message", "text")
    assert question.meaning == "what to say, for example `hello`."
    assert question.read("  as it is ") == "  as it is "


def test_every_required_field_is_asked_in_order_and_none_with_a_default() -> None:
    questions = asked(Order)
    assert [(question.field, question.kind) for question in questions] == [
        ("dish", "choice"),
        ("count", "integer"),
        ("weight", "number"),
        ("now", "boolean"),
        ("toppings", "json"),
    ]
    values = [
        question.read(line)
        for question, line in zip(questions, ["soup", " 3", "1.5", "Y", '[{"name": "a"}]'], strict=True)
    ]
    assert values == ["soup", 3, 1.5, True, [{"name": "a"}]]


@pytest.mark.parametrize(
    ("index", "line", "told"),
    [
        (0, "sopu", "did you mean soup"),
        (0, "br", "bread or brew"),
        (0, "", "choose one of: soup, bread, brew"),
        (0, "\x1b[2J", r"\\x1b\[2J"),
        (1, "three", "not a whole number"),
        (1, "6", "from 1 to 5"),
        (2, "heavy", "not a number"),
        (2, "-1", "0 or more"),
        (3, "maybe", "neither yes nor no"),
        (4, "[", "not JSON"),
    ],
)
def test_a_wrong_answer_is_explained(index: int, line: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        asked(Order)[index].read(line)


def test_legal_actions_are_chosen_by_number_name_or_the_beginning_of_one() -> None:
    seen = {"legal_actions": [0, 4, 7], "legal_action_names": ["Left", "Stay", "Steep right"]}
    [question] = asked(Move, seen)
    assert question.choices == (Choice(0, "Left"), Choice(4, "Stay"), Choice(7, "Steep right"))
    assert [question.read(line) for line in ("4", "left", " STAY ", "stee")] == [4, 0, 4, 7]
    with pytest.raises(ValueError, match="4 = Stay or 7 = Steep right"):
        question.read("st")
    with pytest.raises(ValueError, match="not among the choices"):
        question.read("1")


def test_legal_actions_without_names_are_numbers() -> None:
    [question] = asked(Move, {"legal_actions": [3, 5], "legal_action_names": []})
    assert question.choices == (Choice(3), Choice(5))


def test_gymnasiums_actions_have_the_names_of_its_documentation() -> None:
    schema = {"properties": {"action": {"type": "integer", "minimum": 0, "maximum": 3}}, "required": ["action"]}
    [question] = questions_of(schema, {}, {"gymnasium_id": "FrozenLake-v1"})
    assert [choice.name for choice in question.choices] == ["left", "down", "right", "up"]
    [question] = questions_of(schema, {}, {"gymnasium_id": "Unknown-v1"})
    assert question.choices == tuple(Choice(value) for value in range(4))


def test_references_are_followed_and_what_is_not_understood_is_asked_as_json() -> None:
    schema = {
        "$defs": {"Side": {"enum": ["left", "right"]}},
        "properties": {"side": {"$ref": "#/$defs/Side"}, "odd": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    }
    assert [question.kind for question in questions_of(schema, {}, {})] == ["choice", "json"]


def test_a_union_of_actions_is_asked_as_a_whole() -> None:
    assert questions_of({"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, {}, {}) == ()


def test_the_summary_is_the_first_paragraph() -> None:
    assert summary_of(Say.model_json_schema()) == "Say something."
    assert summary_of({}) == ""


def test_textarena_s_moves_are_put_into_brackets_for_the_player() -> None:
    schema = Say.model_json_schema()
    [question] = questions_of(schema, {"delta": "Your turn."}, {"env_id": "Wordle-v0"})
    assert [question.read(line) for line in (" crane ", "[crane]", "")] == ["[crane]", "[crane]", ""]
    [plain] = questions_of(schema, {}, {})
    assert plain.read("crane") == "crane"


def test_a_docstring_s_line_may_tell_of_several_names() -> None:
    arguments = "    Args:\n        a, b: the ``first``\n            and second.\n        c: third.\n"
    text = f"Do.\n\n{arguments}\n    Raises:\n        x: no."
    assert meanings_of(text, "Args:") == {"a": "the `first` and second.", "b": "the `first` and second.", "c": "third."}
