"""Values made from a schema fit it; the same random state makes the same value."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from openenv_core.conformance.schemas import document_fault
from openenv_core.errors import UnsupportedOperationError
from openenv_core.sampling import sample_from_schema
from openenv_core.types import Observation
from tests.unit.sampling.models import Everything, Move, Say, Told, Tree, Tuned

seeds = st.integers(0, 2**32)
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
