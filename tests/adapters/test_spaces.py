"""Spaces as types and as descriptions, and their values through JSON."""

import json
from typing import Annotated, Any

import numpy
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError, create_model

from openenv_core.adapters.spaces import SpaceType, describe_space, sample_from_plain, space_from_description
from openenv_core.errors import ConfigurationError
from openenv_core.types import Action, Image, Observation
from tests.adapters.worlds import RichWorld, same

Space = spaces.Space[Any]

EXAMPLES: list[Space] = [
    RichWorld().action_space,
    RichWorld().observation_space,
    spaces.Discrete(5, dtype=numpy.int32),
    spaces.Box(-numpy.inf, numpy.inf, (3,), numpy.float32),
    spaces.Box(numpy.array([-numpy.inf, 0.0]), numpy.array([1.0, numpy.inf]), dtype=numpy.float64),
    spaces.Box(-5, 5, (2, 2), numpy.int64),
    spaces.Box(0, 255, (4, 6, 3), numpy.uint8),
    spaces.Box(0, 255, (4, 6), numpy.uint8),
    spaces.MultiBinary(4),
    spaces.MultiDiscrete([3, 3], start=[-1, 2]),
    spaces.Text(10, min_length=0),
    spaces.Tuple([]),
]


def small_spaces() -> st.SearchStrategy[Space]:
    """Spaces made at random, nested up to three deep."""
    size = st.integers(1, 4)
    leaves: st.SearchStrategy[Space] = st.one_of(
        st.builds(lambda n, start: spaces.Discrete(n, start=start), size, st.integers(-9, 9)),
        st.builds(spaces.MultiDiscrete, st.lists(size, min_size=1, max_size=3)),
        st.builds(spaces.MultiBinary, size),
        st.builds(lambda shape: spaces.Box(-1.0, 2.0, tuple(shape)), st.lists(size, max_size=3)),
        st.builds(lambda shape: spaces.Box(-3, 9, tuple(shape), numpy.int16), st.lists(size, max_size=2)),
        st.builds(lambda least, more: spaces.Text(least + more, min_length=least), st.integers(0, 3), size),
    )
    names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(spaces.Tuple, st.lists(inner, max_size=3)),
            st.builds(spaces.Dict, st.dictionaries(names, inner, max_size=3)),
        ),
        max_leaves=4,
    )


def through_json(space: Space, sample: Any, base: type[Any], *, exact: bool) -> Any:
    model: Any = create_model("Value", __base__=base, value=(Annotated[Any, SpaceType(space, exact=exact)], ...))
    made: Any = model(value=sample)
    again: Any = model.model_validate_json(made.model_dump_json())
    assert again == made
    return sample_from_plain(space, again.value)


@pytest.mark.parametrize("space", EXAMPLES, ids=str)
def test_samples_come_back_from_json_as_they_were(space: Space) -> None:
    space.seed(3)
    for _ in range(25):
        sample = space.sample()
        for base, exact in ((Action, True), (Observation, False)):
            back = through_json(space, sample, base, exact=exact)
            assert space.contains(back)
            assert same(space, sample, back)


@given(small_spaces(), st.integers(0, 2**31))
def test_any_space_and_sample_come_back_from_json(space: Space, seed: int) -> None:
    described = json.loads(json.dumps(describe_space(space), allow_nan=False))
    assert space_from_description(described) == space
    space.seed(seed)
    sample = space.sample()
    back = through_json(space, sample, Action, exact=True)
    assert space.contains(back)
    assert same(space, sample, back)


@pytest.mark.parametrize("space", EXAMPLES, ids=str)
def test_a_description_makes_the_same_space(space: Space) -> None:
    again = space_from_description(json.loads(json.dumps(describe_space(space), allow_nan=False)))
    assert again == space
    assert again.dtype == space.dtype


@pytest.mark.parametrize("space", EXAMPLES, ids=str)
def test_every_type_has_a_json_schema(space: Space) -> None:
    model = create_model("Value", __base__=Action, value=(Annotated[Any, SpaceType(space, exact=True)], ...))
    assert model.model_json_schema()["required"] == ["value"]


def test_bounds_are_in_the_schema() -> None:
    schema = SpaceType(spaces.Discrete(4, start=2), exact=True).adapter().json_schema()
    assert (schema["type"], schema["minimum"], schema["maximum"]) == ("integer", 2, 5)
    schema = SpaceType(spaces.Box(-1.0, 1.0, (2, 3)), exact=True).adapter().json_schema()
    assert (schema["minItems"], schema["items"]["maxItems"]) == (2, 3)
    assert schema["items"]["items"] == {"type": "number", "minimum": -1.0, "maximum": 1.0}


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), -1),
        (spaces.Discrete(3), True),
        (spaces.Discrete(3), "1"),
        (spaces.Discrete(3), 1.0),
        (spaces.Discrete(3), numpy.float64(1)),
        (spaces.MultiDiscrete([2, 5]), [2, 4]),
        (spaces.MultiDiscrete([2, 5]), [0]),
        (spaces.MultiBinary(2), [0, 2]),
        (spaces.Box(0.0, 1.0, (2,)), [0.5, 1.5]),
        (spaces.Box(0.0, 1.0, (2,)), [0.5, float("nan")]),
        (spaces.Box(0.0, 1.0, (2,)), [[0.5], [0.5]]),
        (spaces.Box(0.0, 1.0, (2,)), numpy.zeros(3, numpy.float32)),
        (spaces.Box(numpy.array([0.0, 0.0]), numpy.array([1.0, 9.0]), dtype=numpy.float64), [5.0, 5.0]),
        (spaces.Box(0, 255, (2,), numpy.uint8), [0, 256]),
        (spaces.Text(3, charset="ab"), "abc"),
        (spaces.Text(3, charset="ab"), "abab"),
        (spaces.Dict({"a": spaces.Discrete(2)}), {}),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"a": 1, "b": 1}),
        (spaces.Tuple([spaces.Discrete(2)]), [1, 1]),
        (spaces.Box(0, 255, (2, 2, 3), numpy.uint8), "no picture"),
        (spaces.Box(0, 255, (2, 2, 3), numpy.uint8), Image.from_array(numpy.zeros((3, 2, 3), numpy.uint8))),
    ],
)
def test_what_is_no_member_is_refused(space: Space, value: Any) -> None:
    with pytest.raises(ValidationError):
        SpaceType(space, exact=True).adapter().validate_python(value)


def test_observations_may_leave_their_bounds_but_not_their_shape() -> None:
    check = SpaceType(spaces.Box(0.0, 1.0, (2,)), exact=False).adapter()
    assert check.validate_python(numpy.array([0.5, 7.0])) == [0.5, 7.0]
    with pytest.raises(ValidationError):
        check.validate_python(numpy.zeros(3))


def test_pictures_travel_as_png() -> None:
    space = spaces.Box(0, 255, (4, 6, 3), numpy.uint8)
    space.seed(1)
    sample = space.sample()
    check = SpaceType(space, exact=True).adapter()
    plain = check.validate_python(sample)
    assert isinstance(plain, Image)
    assert plain.size == (6, 4)
    assert numpy.array_equal(sample_from_plain(space, check.validate_json(check.dump_json(plain))), sample)


@pytest.mark.parametrize(
    "space",
    [spaces.Sequence(spaces.Discrete(2)), spaces.Tuple([spaces.Graph(spaces.Discrete(2), None)])],
)
def test_other_spaces_are_refused_by_name(space: Space) -> None:
    name = "Sequence" if isinstance(space, spaces.Sequence) else "Graph"
    with pytest.raises(ConfigurationError, match=name):
        describe_space(space)
    with pytest.raises(ConfigurationError, match=name):
        SpaceType(space, exact=True).adapter()


@pytest.mark.parametrize(
    "description", [{}, {"type": "Cube"}, {"type": "Box", "low": 0}, {"type": "Discrete", "n": "x"}]
)
def test_what_is_no_description_is_refused(description: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="description"):
        space_from_description(description)
