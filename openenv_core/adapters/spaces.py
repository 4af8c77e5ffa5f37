"""Gymnasium spaces as types of models, as JSON descriptions, and their values as JSON.

A value has two forms here. A *sample* is what Gymnasium handles: arrays, tuples, dicts. A *plain* value is what a model
holds and the wire carries: numbers, texts, lists, dicts, and a picture (:class:`~openenv_core.types.Image`) for a space
of pictures.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

import numpy
from gymnasium import spaces
from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from openenv_core.errors import ConfigurationError
from openenv_core.types import Image

__all__ = [
    "SpaceType",
    "describe_space",
    "is_picture",
    "plain_from_sample",
    "sample_from_plain",
    "space_from_description",
]

Space = spaces.Space[Any]
_ARRAYS = (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)


class SpaceType:
    """``Annotated[Any, SpaceType(space)]``: a field that holds plain values of a space, and reads samples as well.

    Args:
        space: Discrete, MultiDiscrete, MultiBinary, Box, Text, Dict or Tuple, nested as they may be.
        exact: a value must be a member of the space. Without it only the structure counts: observations of many
            environments leave the bounds of their space.

    Raises:
        ConfigurationError: a space of another kind.
    """

    def __init__(self, space: Space, *, exact: bool) -> None:
        self.space = space
        self.exact = exact

    def adapter(self) -> TypeAdapter[Any]:
        """The check of one value, outside a model."""
        return TypeAdapter(Annotated[Any, self])

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # The handler knows the schema of a picture in full; a core schema alone has no JSON schema.
        inner = _core_schema(self.space, self.exact, lambda: handler.generate_schema(Image))
        schema = core_schema.no_info_before_validator_function(self._plain, inner)
        if not self.exact:
            return schema
        return core_schema.no_info_after_validator_function(self._member, schema)

    def _plain(self, value: Any) -> Any:
        return plain_from_sample(self.space, value)

    def _member(self, value: Any) -> Any:
        if not self.space.contains(sample_from_plain(self.space, value)):
            raise ValueError(f"not a member of {self.space}")
        return value


def is_picture(space: Space) -> bool:
    """Whether values are RGB pictures: bytes, height x width x 3, over the whole range."""
    return (
        isinstance(space, spaces.Box)
        and space.dtype == numpy.uint8
        and len(space.shape) == 3
        and space.shape[2] == 3
        and bool((space.low == 0).all() and (space.high == 255).all())
    )


def plain_from_sample(space: Space, sample: Any) -> Any:
    """The plain form of a sample. What is none of the space's samples is left as it is, for a check to judge."""
    if isinstance(space, spaces.Dict):
        if not isinstance(sample, Mapping):
            return sample
        return {
            key: plain_from_sample(space[key], value) if key in space.spaces else value for key, value in sample.items()
        }
    if isinstance(space, spaces.Tuple):
        if not isinstance(sample, tuple | list) or len(sample) != len(space):
            return sample
        return tuple(plain_from_sample(part, value) for part, value in zip(space.spaces, sample, strict=True))
    if not isinstance(sample, numpy.ndarray | numpy.generic):
        return sample
    if is_picture(space) and sample.dtype == numpy.uint8 and sample.shape == space.shape:
        return Image.from_array(sample)
    return sample.tolist()


def sample_from_plain(space: Space, plain: Any) -> Any:
    """The sample that a checked plain value stands for: arrays are new ones, of the space's dtype."""
    if isinstance(space, spaces.Dict):
        return {key: sample_from_plain(part, plain[key]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(sample_from_plain(part, value) for part, value in zip(space.spaces, plain, strict=True))
    if isinstance(space, _ARRAYS):
        return numpy.array(plain, dtype=space.dtype)
    return plain


def _core_schema(space: Space, exact: bool, picture: Callable[[], CoreSchema]) -> CoreSchema:
    if isinstance(space, spaces.Dict):
        return _dict_schema(space, exact, picture)
    if isinstance(space, spaces.Tuple):
        return core_schema.tuple_schema([_core_schema(part, exact, picture) for part in space.spaces])
    if isinstance(space, spaces.Text):
        shortest, longest = (space.min_length, space.max_length) if exact else (None, None)
        return core_schema.str_schema(strict=True, min_length=shortest, max_length=longest)
    if isinstance(space, spaces.Discrete):
        low, high = int(space.start), int(space.start) + int(space.n) - 1
        return core_schema.int_schema(strict=True, ge=low if exact else None, le=high if exact else None)
    if is_picture(space):
        return picture()
    if isinstance(space, _ARRAYS):
        schema = _element_schema(space, exact)
        for length in reversed(space.shape):
            schema = core_schema.list_schema(schema, min_length=length, max_length=length)
        return schema
    raise ConfigurationError(
        f"a space of type {type(space).__name__} has no typed form here; Discrete, MultiDiscrete, MultiBinary, Box, "
        "Text, Dict and Tuple have"
    )


def _dict_schema(space: spaces.Dict, exact: bool, picture: Callable[[], CoreSchema]) -> CoreSchema:
    for key in space.spaces:
        if not isinstance(key, str):
            raise ConfigurationError(f"key {key!r} of a Dict space is not a text, so it cannot be a name in JSON")
    parts = {key: _core_schema(part, exact, picture) for key, part in space.spaces.items()}
    fields = {key: core_schema.typed_dict_field(part) for key, part in parts.items()}
    return core_schema.typed_dict_schema(fields, extra_behavior="forbid")


def _element_schema(space: Any, exact: bool) -> CoreSchema:
    low, high = _bounds(space)
    kind = numpy.dtype(space.dtype).kind
    if kind == "b":
        return core_schema.bool_schema(strict=True)
    if kind in "iu":
        # Whatever the space says, an element must fit the array's type: numpy would raise over it.
        limits = numpy.iinfo(space.dtype)
        least = int(low.min()) if exact else int(limits.min)
        most = int(high.max()) if exact else int(limits.max)
        return core_schema.int_schema(strict=True, ge=least, le=most)
    # A bound of infinity is none; the exact bounds of each element are checked on the whole.
    floor = float(low.min()) if exact and numpy.isfinite(low).all() else None
    ceiling = float(high.max()) if exact and numpy.isfinite(high).all() else None
    return core_schema.float_schema(ge=floor, le=ceiling)


def _bounds(space: Any) -> tuple[Any, Any]:
    """The least and greatest elements, both included."""
    if isinstance(space, spaces.Box):
        return space.low, space.high
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return numpy.zeros(space.shape, numpy.int8), numpy.ones(space.shape, numpy.int8)


def describe_space(space: Space) -> dict[str, Any]:
    """The space as JSON-able values, from which :func:`space_from_description` makes it again.

    Raises:
        ConfigurationError: as :class:`SpaceType`.
    """
    kind = type(space).__name__
    if isinstance(space, spaces.Discrete):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start), "dtype": str(space.dtype)}
    if isinstance(space, spaces.MultiDiscrete):
        return {
            "type": "MultiDiscrete",
            "nvec": space.nvec.tolist(),
            "start": space.start.tolist(),
            "dtype": str(space.dtype),
        }
    if isinstance(space, spaces.MultiBinary):
        # A space of one axis is not equal to one of the same number alone.
        return {"type": "MultiBinary", "n": space.n if isinstance(space.n, int) else list(space.shape)}
    if isinstance(space, spaces.Box):
        low, high = _bound_description(space.low), _bound_description(space.high)
        return {"type": "Box", "low": low, "high": high, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Text):
        length = {"min_length": space.min_length, "max_length": space.max_length}
        return {"type": "Text", **length, "charset": "".join(space.character_list)}
    if isinstance(space, spaces.Dict):
        return {"type": "Dict", "spaces": {key: describe_space(part) for key, part in space.spaces.items()}}
    if isinstance(space, spaces.Tuple):
        return {"type": "Tuple", "spaces": [describe_space(part) for part in space.spaces]}
    raise ConfigurationError(f"a space of type {kind} has no description here")


def _bound_description(bound: Any) -> Any:
    """One number where all are equal; infinities as text, since JSON has no word for them."""
    if bound.size and (bound == bound.flat[0]).all():
        bound = bound.flat[0]
    return _without_infinity(bound.tolist())


def _without_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_infinity(item) for item in value]
    return str(value) if isinstance(value, float) and value in (float("inf"), float("-inf")) else value


def _with_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_infinity(item) for item in value]
    return float(value) if isinstance(value, str) else value


def space_from_description(description: Mapping[str, Any]) -> Space:
    """The space that :func:`describe_space` described.

    Raises:
        ConfigurationError: this is no such description.
    """
    try:
        return _space_from(description)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"not the description of a space: {type(error).__name__}: {error}") from None


def _space_from(description: Mapping[str, Any]) -> Space:
    kind = description["type"]
    if kind == "Discrete":
        return spaces.Discrete(description["n"], start=description["start"], dtype=description["dtype"])
    if kind == "MultiDiscrete":
        start = numpy.array(description["start"])
        return spaces.MultiDiscrete(numpy.array(description["nvec"]), dtype=description["dtype"], start=start)
    if kind == "MultiBinary":
        return spaces.MultiBinary(description["n"])
    if kind == "Box":
        dtype, shape = numpy.dtype(description["dtype"]), tuple(description["shape"])
        low, high = (numpy.array(_with_infinity(description[name]), dtype) for name in ("low", "high"))
        return spaces.Box(
            numpy.broadcast_to(low, shape), numpy.broadcast_to(high, shape), shape, cast("Any", dtype.type)
        )
    if kind == "Text":
        return spaces.Text(
            description["max_length"], min_length=description["min_length"], charset=description["charset"]
        )
    if kind == "Dict":
        return spaces.Dict({key: _space_from(part) for key, part in description["spaces"].items()})
    if kind == "Tuple":
        return spaces.Tuple([_space_from(part) for part in description["spaces"]])
    raise ValueError(f"unknown type {kind!r}")
