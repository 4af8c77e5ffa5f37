"""Documents and the JSON schemas that they are held to. Pure."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

__all__ = ["document_fault", "schema_fault", "wrong_actions"]

_NOT_FINITE = {"Infinity": sys.float_info.max, "-Infinity": -sys.float_info.max, "NaN": 0.0}
"""How the wire writes such numbers (``openenv_core.types``), and what is checked in their place: a JSON schema has no
word for them."""

_MISFIT = {"no_such_field": {"of": "any type"}}
_STRANGER = "no_such_field"


def schema_fault(schema: Any) -> str | None:
    """What is wrong with a schema; ``None`` where it is one."""
    if not isinstance(schema, Mapping):
        return f"it is {type(schema).__name__}, not an object"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    return None


def document_fault(schema: Mapping[str, Any], document: Any) -> str | None:
    """Where a document leaves its schema, and how; ``None`` where it fits."""
    validator = _validator(schema)
    try:
        if validator.is_valid(document) or validator.is_valid(_with_numbers(document)):
            return None
        error: Any = best_match(validator.iter_errors(document))
    except Unresolvable as unresolvable:
        return f"the schema refers to {unresolvable.ref!r}, which is not in it"
    path = ".".join(map(str, error.absolute_path))
    message = error.message if len(error.message) <= 160 else f"{error.message[:120]}…{error.message[-36:]}"
    return f"{path}: {message}" if path else message


def wrong_actions(schema: Mapping[str, Any], action: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Actions that do not fit the schema, each made from a good one, with what is wrong with it.

    Values are of another kind altogether, so that no reading of a text as a number, say, mends them.
    """
    validator = _validator(schema)
    candidates: list[tuple[str, dict[str, Any]]] = [(f"an unknown field {_STRANGER!r}", {**action, _STRANGER: 1})]
    for name, value in action.items():
        rest = {key: kept for key, kept in action.items() if key != name}
        candidates.append((f"no field {name!r}", rest))
        candidates.append(
            (f"a {name!r} of the wrong type", {**rest, name: [_MISFIT] if isinstance(value, dict) else _MISFIT})
        )
    return (candidate for candidate in candidates if not validator.is_valid(candidate[1]))


def _validator(schema: Mapping[str, Any]) -> Any:
    # With a registry of its own, a validator never fetches what a schema refers to.
    return Draft202012Validator(schema, registry=Registry())


def _with_numbers(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _with_numbers(value) for key, value in document.items()}
    if isinstance(document, list):
        return [_with_numbers(value) for value in document]
    return _NOT_FINITE.get(document, document) if isinstance(document, str) else document
