"""Values made from a schema fit it; the same random state makes the same value."""

import enum
import re
from datetime import date, datetime, timedelta
from random import Random
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from openenv_core.conformance.patterns import matching_text
from openenv_core.conformance.sampling import sample_from_schema
from openenv_core.conformance.schemas import document_fault, schema_fault, wrong_actions
from openenv_core.errors import UnsupportedOperationError
from openenv_core.types import Action, Image, Observation

seeds = st.integers(0, 2**32)


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
TYPES: list[Any] = [Everything, Tree, Move | Say, Told, Observation, Tuned]


@pytest.mark.parametrize("model", TYPES, ids=str)
@pytest.mark.parametrize("wild", [False, True], ids=["everyday", "odd"])
@given(seed=seeds)
def test_a_value_fits_its_schema_and_its_model(model: Any, wild: bool, seed: int) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    schema = adapter.json_schema()
    value = sample_from_schema(schema, Random(seed), wild=wild)
    assert document_fault(schema, value) is None
    adapter.validate_python(value)
    assert sample_from_schema(schema, Random(seed), wild=wild) == value


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [1, "two", None]},
        {"const": {"a": 1}},
        {"type": ["integer", "null"]},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "number", "minimum": 1e6},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": False, "minItems": 2},
        {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 2},
        {"type": "object", "propertyNames": {"pattern": "^k[0-9]$"}, "additionalProperties": True, "minProperties": 3},
        {"allOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"required": ["b"]}]},
        {"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b", "minimum": 5},
        {"oneOf": [{"type": "string", "format": "email"}, {"type": "integer"}]},
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": False, "b": True}},
        {"maxLength": 3},
        True,
        {},
    ],
    ids=str,
)
@given(seed=seeds)
def test_schemas_that_pydantic_does_not_write_are_read_as_well(schema: Any, seed: int) -> None:
    assert document_fault(schema, sample_from_schema(schema, Random(seed))) is None


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        (False, "no value"),
        ({"type": "number-like"}, "number-like"),
        ({"$ref": "#/$defs/missing"}, "missing"),
        ({"$ref": "https://example.org/schema"}, "example.org"),
        ({"$ref": "#"}, "circle"),
        ({"anyOf": []}, "empty"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "bounds"),
        ({"type": "string", "pattern": "(?=a)b"}, "pattern"),
        ({"type": "string", "pattern": "^a$", "minLength": 5}, "length"),
        ({"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "different items"),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(schema: Any, word: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=word):
        sample_from_schema(schema, Random(1))


def test_a_required_recursion_without_an_end_is_refused() -> None:
    endless = {"$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}}}
    with pytest.raises(UnsupportedOperationError, match="finite"):
        sample_from_schema({**endless, "$ref": "#/$defs/a"}, Random(1))


def test_all_choices_come_up() -> None:
    random = Random(3)
    schema = TypeAdapter(Told).json_schema()
    made = [sample_from_schema(schema, random) for _ in range(60)]
    assert {value["kind"] for value in made} == {"move", "say"}
    assert {value["steps"] for value in made if value["kind"] == "move"} == {-2, 0, 2}


def test_examples_of_the_author_are_used() -> None:
    random = Random(3)
    words = [sample_from_schema(Tuned.model_json_schema(), random)["word"] for _ in range(40)]
    assert {"crane", "slate"} < set(words)


PATTERNS = [
    r"^[a-z]+$",
    r"\d{3}-\d{2,4}",
    r"(foo|ba[rz])?x*",
    r"[^\sa-z]{5}",
    r"\w+@\w+\.(?:com|org)",
    r"(?P<year>\d{4})-[01]\d",
    r"a{2}b{1,}?c+?",
    r"[-+]?[0-9]+(\.[0-9]+)?",
    r"[\]\-x]",
    r"\S\D\W.",
    r"\n\t\\",
    r"a{b",
    r"",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=seeds)
def test_a_text_matches_its_pattern(pattern: str, seed: int) -> None:
    assert re.fullmatch(pattern, matching_text(pattern, Random(seed)))


BEYOND = [r"(?!a)b", r"(?<=a)b", r"\bword", r"(a", r"a)", r"[a", r"*a", r"a{x}", r"\1", "\\"]


@pytest.mark.parametrize("pattern", BEYOND)
def test_a_pattern_beyond_the_plain_kind_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedOperationError, match="no text can be made"):
        matching_text(pattern, Random(1))


def test_named_groups_of_other_dialects_are_read() -> None:
    assert re.fullmatch(r"\d\d", matching_text(r"(?<hour>\d\d)", Random(1)))


@given(seed=seeds)
def test_wrong_actions_are_wrong(seed: int) -> None:
    schema = Everything.model_json_schema()
    action = sample_from_schema(schema, Random(seed))
    wrong = list(wrong_actions(schema, action))
    assert {f"no field {name!r}" for name in ("flag", "inner", "union")} <= {what for what, _ in wrong}
    assert any(what.startswith("an unknown field") for what, _ in wrong)
    for what, candidate in wrong:
        assert document_fault(schema, candidate) is not None, what


def test_a_schema_that_allows_anything_has_no_wrong_actions() -> None:
    assert list(wrong_actions({"type": "object"}, {"a": 1})) == []


def test_infinities_fit_where_numbers_do_and_nowhere_else() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "number", "minimum": 0}, "n": {"type": "integer"}}}
    assert document_fault(schema, {"x": "Infinity"}) is None
    assert document_fault(schema, {"x": "NaN"}) is None
    assert document_fault(schema, {"x": "-Infinity"}) is not None
    assert document_fault(schema, {"x": "infinite"}) is not None


def test_a_fault_names_its_place() -> None:
    schema = Tree.model_json_schema()
    fault = document_fault(schema, {"value": 0.5, "children": [{"value": 2.0}]})
    assert fault is not None
    assert fault.startswith("children.0.value: ")
    assert len(str(document_fault({"type": "integer"}, "x" * 5000))) < 200


def test_no_schema_is_ever_fetched() -> None:
    fault = document_fault({"$ref": "http://127.0.0.1:9/schema.json"}, 1)
    assert fault is not None
    assert "127.0.0.1:9" in fault


def test_what_is_no_schema_is_told() -> None:
    assert schema_fault({"type": "object"}) is None
    wrong: Any
    for wrong in ({"type": 5}, "object", None, []):
        assert schema_fault(wrong) is not None
