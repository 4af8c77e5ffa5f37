"""JSON schemas as tables that people read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from openenv_core.rendering.questions import meanings_of

__all__ = ["Field", "fields_of", "with_meanings"]

_DEPTH: Final = 4
_NAMES: Final = {"string": "text", "boolean": "true or false", "null": "nothing", "object": "object", "array": "list"}


@dataclass(frozen=True)
class Field:
    """One field: its name, what kind of value it has, its default as text (empty for none), what it means."""

    name: str
    kind: str
    default: str
    meaning: str
    required: bool


def fields_of(schema: Mapping[str, Any], meanings: Mapping[str, str] | None = None) -> list[Field]:
    """The fields of an object's schema; of a union's, the fields of each of its members, one after the other.

    Args:
        meanings: what is said of fields elsewhere, where the schema says nothing.
    """
    fields: list[Field] = []
    for member in _members(schema, schema):
        told = {**meanings_of(str(member.get("description", ""))), **(meanings or {})}
        required = member.get("required", ())
        fields += [
            Field(
                name=name,
                kind=_kind(part, schema, _DEPTH),
                default=_default(part),
                meaning=str(part.get("description") or told.get(name, "")).replace("`", ""),
                required=name in required,
            )
            for name, part in member.get("properties", {}).items()
        ]
    return fields


def with_meanings(schema: dict[str, Any], docstring: str) -> dict[str, Any]:
    """The schema, in which each field without a description has the one that a docstring gives its argument."""
    told = meanings_of(docstring, "Args:")
    properties = {
        name: part
        if "description" in part or name not in told
        else {**part, "description": told[name].replace("`", "")}
        for name, part in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties}


def _members(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    schema = _followed(schema, root)
    options = schema.get("oneOf") or schema.get("anyOf")
    return [_followed(option, root) for option in options] if options and "properties" not in schema else [schema]


def _followed(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = str(part.get("$ref", ""))
    if not reference.startswith("#/$defs/"):
        return part
    found: Mapping[str, Any] = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
    return found


def _kind(part: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    part = _followed(part, root)
    if depth == 0:
        return "…"
    if "const" in part:
        return repr(part["const"])
    if "enum" in part:
        return "one of " + ", ".join(map(str, part["enum"]))
    if options := part.get("anyOf") or part.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(option, root, depth - 1) for option in options))
    if part.get("contentMediaType") == "image/png":
        return "picture (PNG)"
    kind = part.get("type")
    if kind == "array":
        items = part.get("items")
        return f"list of {_kind(items, root, depth - 1)}" if isinstance(items, Mapping) and items else "list"
    if kind in ("integer", "number"):
        return f"{'whole number' if kind == 'integer' else 'number'}{_bounds(part)}"
    return _NAMES.get(str(kind), "anything")


def _bounds(part: Mapping[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    told = [f"{sign} {part[name]:g}" for name, sign in signs.items() if isinstance(part.get(name), int | float)]
    return f" {', '.join(told)}" if told else ""


def _default(part: Mapping[str, Any]) -> str:
    default = part.get("default")
    return "" if default in (None, "", [], {}) else str(default)
