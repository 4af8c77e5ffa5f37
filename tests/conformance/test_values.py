"""Values that come out of the wire are compared as models hold them."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from openenv_core.conformance.values import value_difference


class Part(BaseModel):
    """A model in a model."""

    score: float = 0.0
    items: list[Any] = []


@dataclass
class Pair:
    """A part that is no model."""

    left: float
    right: tuple[float, ...] = ()


class Whole(BaseModel):
    """A model with more text than a message shows."""

    long: str = "x" * 200
    part: Part = Part()
    pair: Pair = Pair(0.0)
    by_name: dict[str, Any] = {}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"part": Part(score=math.nan)},
        {"part": Part(items=[1, [math.nan]])},
        {"pair": Pair(math.nan, (1.0, math.nan))},
        {"by_name": {"a": math.nan}},
    ],
)
def test_equal_values_do_not_differ_and_nan_equals_itself(fields: dict[str, Any]) -> None:
    copied = Whole.model_validate(Whole(**fields).model_dump())
    assert value_difference(Whole(**fields), copied) is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"part": Part(score=math.nan)}, "part.score is nan as it is sent and 0.0 as it arrives"),
        ({"part": Part(items=[1])}, "part.items is [1] as it is sent and [] as it arrives"),
        ({"pair": Pair(1.0)}, "pair.left is 1.0 as it is sent and 0.0 as it arrives"),
        ({"by_name": {"a": (1,)}}, "by_name is {'a': (1,)} as it is sent and {} as it arrives"),
    ],
)
def test_a_difference_is_told_by_its_place(fields: dict[str, Any], words: str) -> None:
    assert value_difference(Whole(**fields), Whole()) == words


def test_a_list_is_not_the_tuple_that_was_sent() -> None:
    assert value_difference((1, 2), [1, 2]) == "it is (1, 2) as it is sent and [1, 2] as it arrives"
