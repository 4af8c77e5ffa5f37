"""What documents are held to, and the actions that must be refused."""

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openenv_core.conformance.schemas import document_fault, schema_fault, wrong_actions
from openenv_core.sampling import sample_from_schema
from tests.unit.sampling.models import Everything, Tree

seeds = st.integers(0, 2**32)


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
