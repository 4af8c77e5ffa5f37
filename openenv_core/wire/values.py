"""Observations and states as JSON, whatever an author put in their fields."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from openenv_core.errors import InvalidObservationError, ValidationFailedError
from openenv_core.types import NESTED_PICTURES, PictureFiles, encode_bytes
from openenv_core.wire.nesting import MAX_NESTING, is_deeper

__all__ = ["LEGACY", "model_json", "parse_json", "request_json", "value_json"]

LEGACY: Final = NESTED_PICTURES
"""Serialization context of everything that goes to a client of protocol version 1."""


_DEEPEST = MAX_NESTING - 2
"""What is nested deeper cannot be read at the other end, where it stands in a frame, and that in an array of frames."""

_PROBLEMS = (PydanticSerializationError, TypeError, ValueError, RecursionError)


class _NotJsonError(Exception):
    """Something has no JSON form; the message says what. ``field``: where in a model it is."""

    def __init__(self, what: str, error: Exception, field: str | None = None) -> None:
        super().__init__(f"{what} does not serialize: {error}")
        self.details = {"field": field} if field is not None else {}


def _plain(value: Any) -> Any:
    """What pydantic cannot serialize: numpy values as numbers and nested lists; anything else is refused."""
    convert = getattr(value, "tolist", None)
    if callable(convert):
        return convert()
    if isinstance(value, BaseException):
        return str(value)
    raise TypeError(f"a value of type {type(value).__module__}.{type(value).__qualname__} has no JSON form")


def _without_bytes(value: Any) -> Any:
    """The same nest of values, with bytes anywhere in it as text."""
    if isinstance(value, bytes | bytearray):
        return encode_bytes(bytes(value))
    if isinstance(value, BaseModel):
        return _without_bytes(value.model_dump())
    if isinstance(value, Mapping):
        return {key: _without_bytes(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_without_bytes(item) for item in value]
    return value


def model_json(model: Any, *, exclude: set[str] | None = None, context: str | PictureFiles | None = None) -> bytes:
    """A model, a dataclass or a mapping that an environment returned, as JSON bytes, in one pass.

    Args:
        exclude: top-level fields to leave out.
        context: :data:`LEGACY` for a client of protocol version 1; a ``PictureFiles`` to have the pictures apart.

    Raises:
        InvalidObservationError: a field has no JSON form, or is nested too deeply to be read; the message names it.
    """
    try:
        text = _json(model, exclude, context)
    except _NotJsonError as error:
        raise InvalidObservationError(f"{error}. The call itself has run.", **error.details) from None
    if is_deeper(text, _DEEPEST):
        raise _too_deep(type(model).__name__, _deep_field(text))
    return text


def value_json(value: Any, name: str) -> bytes:
    """Plain values that an environment returned, as JSON bytes.

    Args:
        name: what to call them in a refusal.

    Raises:
        InvalidObservationError: they have no JSON form, or are nested too deeply to be read.
    """
    try:
        text = _value_json(value, name)
    except _NotJsonError as error:
        raise InvalidObservationError(f"{error}. The call itself has run.") from None
    if is_deeper(text, _DEEPEST):
        raise _too_deep(name)
    return text


def _too_deep(what: str, field: str | None = None) -> InvalidObservationError:
    where = f"{what}.{field}" if field is not None else what
    details = {"field": field} if field is not None else {}
    return InvalidObservationError(
        f"{where} is nested more than {_DEEPEST} levels deep, which no client reads. The call itself has run.",
        limit=_DEEPEST,
        **details,
    )


def _deep_field(text: bytes) -> str | None:
    found = json.loads(text)  # which goes deeper than parse_json
    fields = found.items() if isinstance(found, dict) else ()
    return next((name for name, value in fields if is_deeper(json.dumps(value).encode(), _DEEPEST - 1)), None)


def request_json(value: Any, name: str) -> bytes:
    """An action or the options of a reset as JSON bytes.

    Args:
        name: what to call plain values in a refusal.

    Raises:
        ValidationFailedError: something in it has no JSON form; the message names it.
    """
    try:
        return _value_json(value, name) if isinstance(value, dict) else _json(value, None, None)
    except _NotJsonError as error:
        raise ValidationFailedError(f"{error}; nothing was sent", **error.details) from None


def _json(model: Any, exclude: set[str] | None, context: str | PictureFiles | None) -> bytes:
    # Not isinstance: pydantic's metaclass makes that several times as slow, and this runs for every step.
    serializer = getattr(type(model), "__pydantic_serializer__", None)
    if serializer is None:
        return _other_json(model, exclude)
    try:
        text: bytes = serializer.to_json(model, exclude=exclude, context=context, fallback=_plain)
        return text
    except _PROBLEMS:
        return _careful_json(model, exclude, context)


def _careful_json(model: BaseModel, exclude: set[str] | None, context: str | PictureFiles | None) -> bytes:
    """Field by field: bytes in an untyped place become text, and a culprit is named."""
    fields: list[bytes] = []
    for name in [*type(model).model_fields, *(model.model_extra or ())]:
        if exclude is not None and name in exclude:
            continue
        value = getattr(model, name)
        try:
            try:
                one = type(model).__pydantic_serializer__.to_python(
                    model, mode="json", include={name}, context=context, fallback=_plain
                )
                plain = one[name]
            except (PydanticSerializationError, TypeError, ValueError):
                plain = to_jsonable_python(
                    _without_bytes(value), fallback=_plain, inf_nan_mode="strings", context=context
                )
            fields.append(b"%b:%b" % (to_json(name), to_json(plain, inf_nan_mode="strings")))
        except _PROBLEMS as error:
            raise _NotJsonError(f"{type(model).__name__}.{name}", error, name) from None
    return b"{%b}" % b",".join(fields)


def _value_json(value: Any, name: str) -> bytes:
    try:
        return to_json(value, fallback=_plain, inf_nan_mode="strings")
    except _PROBLEMS:
        pass
    try:
        return to_json(_without_bytes(value), fallback=_plain, inf_nan_mode="strings")
    except _PROBLEMS as error:
        raise _NotJsonError(name, error) from None


def _other_json(value: Any, exclude: set[str] | None) -> bytes:
    if isinstance(value, Mapping):
        return _value_json({key: item for key, item in value.items() if key not in (exclude or ())}, "a value")
    try:
        plain = TypeAdapter(type(value)).dump_python(value, exclude=exclude)
    except _PROBLEMS as error:
        raise _NotJsonError(type(value).__name__, error) from None
    return _value_json(plain, type(value).__name__)


def parse_json(text: str | bytes) -> Any:
    """JSON to plain values. Raises ``ValueError`` for text that is not JSON, or is nested too deeply to be honest."""
    try:
        return from_json(text)
    except TypeError:  # half a surrogate pair in a str, which is no text at all
        raise ValueError("not a text that UTF-8 can carry") from None
