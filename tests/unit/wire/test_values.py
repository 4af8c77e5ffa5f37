import dataclasses
import datetime
import json
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from openenv_core.errors import InvalidObservationError, ValidationFailedError
from openenv_core.types import Image, Observation
from openenv_core.wire.values import LEGACY, model_json, parse_json, request_json, value_json
from tests.unit.wire.samples import JSON_VALUES, OBSERVATIONS, Guess, Seen


def strict(text: bytes) -> Any:
    """What a strict reader reads: UTF-8, and no number that JSON does not have."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text.decode(), parse_constant=refuse)


@given(OBSERVATIONS)
def test_every_observation_is_strict_json_and_reads_back_equal(seen: Seen) -> None:
    text = model_json(seen)
    strict(text)
    assert Seen.model_validate_json(text) == seen


PLACES = ["anything", "metadata", "nested"]


def placed(value: Any, place: str) -> Seen:
    if place == "metadata":
        return Seen(metadata={"value": value})
    return Seen(anything=value if place == "anything" else {"deep": [1, {"down": value}]})


def found(text: bytes, place: str) -> Any:
    read = strict(text)
    if place == "metadata":
        return read["metadata"]["value"]
    return read["anything"] if place == "anything" else read["anything"]["deep"][1]["down"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (numpy.float32(1.5), 1.5),
        (numpy.float64("inf"), "Infinity"),
        (numpy.int64(-3), -3),
        (numpy.bool_(True), True),
        (numpy.arange(3), [0, 1, 2]),
        (numpy.array([[1.5, float("nan")]]), [[1.5, "NaN"]]),
        (numpy.array(["a", "b"]), ["a", "b"]),
        (numpy.array(7), 7),
        (numpy.zeros((0, 3)), []),
        (b"text", "text"),
        (b"\xff\x00", "data:;base64,/wA="),
        (bytearray(b"\xff"), "data:;base64,/w=="),
        ([b"\xff", numpy.float32(0.5)], ["data:;base64,/w==", 0.5]),
        ({1: "one"}, {"1": "one"}),
        ({"only"}, ["only"]),
        ((1, 2), [1, 2]),
        (float("-inf"), "-Infinity"),
        (datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC), "2024-05-01T00:00:00Z"),
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (10**30, 10**30),
        (ValueError("it broke"), "it broke"),
    ],
    ids=repr,
)
def test_values_in_untyped_places(value: Any, expected: Any, place: str) -> None:
    assert found(model_json(placed(value, place)), place) == expected


class Opaque:
    pass


def endless() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    "value",
    [Opaque(), lambda: 1, endless(), "\udcff", {"\udcff": 1}, {b"\xff": 1}],
    ids=["object", "function", "endless", "no text", "key that is no text", "key of bytes"],
)
@pytest.mark.parametrize("place", PLACES)
def test_what_has_no_json_form_is_refused_by_the_field_s_name(value: Any, place: str) -> None:
    field = "metadata" if place == "metadata" else "anything"
    with pytest.raises(InvalidObservationError, match=f"Seen.{field} does not serialize") as caught:
        model_json(placed(value, place))
    assert caught.value.details["field"] == field


@given(numpy_strategies.arrays(numpy_strategies.scalar_dtypes(), numpy_strategies.array_shapes(min_side=0, max_side=3)))
def test_any_array_is_strict_json_or_refused(array: Any) -> None:
    try:
        text = model_json(Seen(anything=array, metadata={"array": array}))
    except InvalidObservationError:
        return
    strict(text)


def test_top_level_fields_can_be_left_out_also_on_the_careful_way() -> None:
    plain = strict(model_json(Seen(text="x"), exclude={"reward", "done"}))
    careful = strict(model_json(Seen(text="x", anything=b"\xff"), exclude={"reward", "done"}))
    assert set(plain) == set(careful) == set(Seen.model_fields) - {"reward", "done"}


class Shown(Observation):
    picture: Image | None = None
    extra: Any = None


def test_a_picture_is_text_to_us_and_nested_lists_to_an_older_client() -> None:
    picture = Image.from_array(numpy.zeros((1, 2, 3), numpy.uint8))
    assert isinstance(strict(model_json(Shown(picture=picture)))["picture"], str)
    legacy = strict(model_json(Shown(picture=picture), context=LEGACY))["picture"]
    assert legacy == [[[0, 0, 0], [0, 0, 0]]]
    careful = strict(model_json(Shown(picture=picture, extra=b"\xff"), context=LEGACY))["picture"]
    assert careful == legacy


@dataclasses.dataclass
class Plain:
    name: str
    blob: bytes = b"\xff"
    score: Any = None


def test_dataclasses_and_mappings_serialize_too() -> None:
    assert strict(model_json(Plain("x", score=numpy.float32(2)))) == {
        "name": "x",
        "blob": "data:;base64,/w==",
        "score": 2.0,
    }
    assert strict(model_json(Plain("x", score=numpy.float32(2)), exclude={"name"})) == {
        "blob": "data:;base64,/w==",
        "score": 2.0,
    }
    assert strict(model_json({"a": b"\xff", "b": numpy.arange(2)})) == {"a": "data:;base64,/w==", "b": [0, 1]}
    with pytest.raises(InvalidObservationError, match="a value does not serialize"):
        model_json({"a": Opaque()})


def test_plain_values_that_are_nested_too_deeply_are_refused_by_that_name() -> None:
    value: dict[str, Any] = {}
    for _ in range(197):
        value = {"a": value}
    assert parse_json(value_json(value, "the facts")) == value
    with pytest.raises(InvalidObservationError, match=r"^the facts is nested more than 198 levels deep"):
        value_json({"a": value}, "the facts")


def test_plain_values_are_refused_by_the_name_that_they_are_given() -> None:
    assert strict(value_json({"a": [b"\xff", float("nan")]}, "metadata")) == {"a": ["data:;base64,/w==", "NaN"]}
    with pytest.raises(InvalidObservationError, match="metadata does not serialize"):
        value_json({"a": Opaque()}, "metadata")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"seed": numpy.int64(3)}, {"seed": 3}),
        ({"board": numpy.eye(2)}, {"board": [[1.0, 0.0], [0.0, 1.0]]}),
        ({"blob": b"\xff"}, {"blob": "data:;base64,/w=="}),
        (Guess(word="x", tags=["a"]), {**Guess(word="x", tags=["a"]).model_dump(mode="json")}),
    ],
    ids=repr,
)
def test_a_request_may_hold_what_an_observation_may(value: Any, expected: Any) -> None:
    assert strict(request_json(value, "an option")) == expected


def test_a_request_without_a_json_form_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValidationFailedError, match=r"an option does not serialize.*; nothing was sent"):
        request_json({"board": Opaque()}, "an option")
    with pytest.raises(ValidationFailedError, match=r"Guess\.metadata does not serialize") as caught:
        request_json(Guess(word="x", metadata={"board": Opaque()}), "the action")
    assert caught.value.details == {"field": "metadata"}


@given(JSON_VALUES)
def test_json_reads_as_it_was_written(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.text(st.characters(), max_size=10) | st.integers(300, 100_000).map(lambda depth: "[" * depth + "]" * depth))
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    try:
        parse_json(text)
    except ValueError:
        return
    assert json.loads(text) is not Ellipsis
