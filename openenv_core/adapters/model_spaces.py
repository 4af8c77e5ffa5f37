"""Gymnasium spaces from the JSON schema of models, for models that describe a bounded world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy
from gymnasium import spaces
from pydantic import BaseModel

from openenv_core.errors import ConfigurationError
from openenv_core.types import Action, Observation

__all__ = ["Codec", "codec_of_action", "codec_of_observation"]

Space = gymnasium.Space[Any]
Schema = Mapping[str, Any]
_INTEGERS = numpy.iinfo(numpy.int64)


@dataclass(frozen=True)
class Codec:
    """A space, and the way from JSON values to its samples and back."""

    space: Space
    to_sample: Callable[[Any], Any]
    from_sample: Callable[[Any], Any]


class _NoSpaceError(Exception):
    """A part of a schema has no space; the text says why."""


def codec_of_action(model: type[BaseModel]) -> Codec:
    """The space of an action's required fields (of all its own, where none is required).

    One field gives the field's space, several give a Dict. Samples become mappings of fields.

    Raises:
        ConfigurationError: a field has no space: a text, a value that may be missing, a list of any length.
    """
    own = [name for name in model.model_fields if name not in Action.model_fields]
    needed = [name for name in own if model.model_fields[name].is_required()]
    return _codec_of_model(model, needed or own, "action_space and to_action")


def codec_of_observation(model: type[BaseModel]) -> Codec:
    """The space of an observation's own fields; as :func:`codec_of_action`."""
    own = [name for name in model.model_fields if name not in Observation.model_fields]
    return _codec_of_model(model, own, "observation_space and from_observation")


def _codec_of_model(model: type[BaseModel], names: list[str], arguments: str) -> Codec:
    schema = model.model_json_schema(by_alias=False)
    definitions = schema.get("$defs", {})
    parts: dict[str, Codec] = {}
    for name in names:
        try:
            parts[name] = _codec(schema["properties"][name], definitions)
        except _NoSpaceError as reason:
            raise ConfigurationError(
                f"{model.__name__}.{name} gives no space, since {reason}: give {arguments}"
            ) from None
    if not parts:
        raise ConfigurationError(f"{model.__name__} has no fields of its own to make a space of: give {arguments}")
    if len(parts) > 1:
        return _mapping(parts)
    [(name, only)] = parts.items()
    return Codec(only.space, lambda values: only.to_sample(values[name]), lambda s: {name: only.from_sample(s)})


def _codec(schema: Schema, definitions: Mapping[str, Schema]) -> Codec:
    if "$ref" in schema:
        return _codec(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema or "const" in schema:
        return _choice(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "boolean":
        return Codec(spaces.Discrete(2), int, bool)
    if kind == "integer":
        return _integer(schema)
    if kind == "number":
        return _number(schema, ())
    if kind == "array":
        return _array(schema, definitions)
    if kind == "object" and schema.get("properties"):
        return _mapping({name: _codec(part, definitions) for name, part in schema["properties"].items()})
    if kind == "string":
        raise _NoSpaceError("it is a text")
    raise _NoSpaceError("its type is open")


def _choice(values: list[Any]) -> Codec:
    return Codec(spaces.Discrete(len(values)), values.index, lambda sample: values[int(sample)])


def _mapping(parts: dict[str, Codec]) -> Codec:
    return Codec(
        spaces.Dict({name: part.space for name, part in parts.items()}),
        lambda values: {name: part.to_sample(values[name]) for name, part in parts.items()},
        lambda sample: {name: part.from_sample(sample[name]) for name, part in parts.items()},
    )


def _limits(schema: Schema, step: int) -> tuple[Any, Any]:
    """Least and greatest value; ``step`` leads from an excluded bound to the nearest value of an integer."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + step
    if high is None and "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - step
    return low, high


def _integer(schema: Schema) -> Codec:
    low, high = _limits(schema, 1)
    if low is None or high is None:
        raise _NoSpaceError("it is an integer without both bounds")
    if not _INTEGERS.min <= low <= high <= _INTEGERS.max or high - low >= _INTEGERS.max:
        raise _NoSpaceError("its bounds are no range of 64-bit integers")
    return Codec(spaces.Discrete(high - low + 1, start=low), int, int)


def _number(schema: Schema, shape: tuple[int, ...]) -> Codec:
    low, high = _limits(schema, 0)
    box = spaces.Box(
        -numpy.inf if low is None else float(low), numpy.inf if high is None else float(high), shape, numpy.float64
    )
    return Codec(box, lambda value: numpy.array(value, numpy.float64), lambda sample: numpy.asarray(sample).tolist())


def _array(schema: Schema, definitions: Mapping[str, Schema]) -> Codec:
    if "prefixItems" in schema:
        parts = [_codec(part, definitions) for part in schema["prefixItems"]]
    else:
        length = schema.get("minItems")
        if length is None or length != schema.get("maxItems") or "items" not in schema:
            raise _NoSpaceError("it is a list without a fixed length")
        if schema["items"].get("type") == "number":
            return _number(schema["items"], (length,))
        parts = [_codec(schema["items"], definitions)] * length
    return Codec(
        spaces.Tuple([part.space for part in parts]),
        lambda values: tuple(part.to_sample(value) for part, value in zip(parts, values, strict=True)),
        lambda sample: [part.from_sample(value) for part, value in zip(parts, sample, strict=True)],
    )
