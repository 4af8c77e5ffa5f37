"""Values of Python compared, as models hold them. Pure."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

__all__ = ["value_difference"]

_LONGEST = 80


def value_difference(sent: Any, arrived: Any, path: str = "") -> str | None:
    """Where a value that arrived is not equal to the one that was sent, and how; ``None`` for equal ones.

    NaN equals NaN here, wherever it stands.
    """
    if arrived == sent or (_equals_nothing(sent) and _equals_nothing(arrived)):
        return None
    if type(sent) is type(arrived):
        found = [
            value_difference(one, other, f"{path}.{name}" if path else name)
            for name, one, other in _parts(sent, arrived)
        ]
        if found:
            return next((difference for difference in found if difference is not None), None)
    where = path or "it"
    return f"{where} is {_short(sent)} as it is sent and {_short(arrived)} as it arrives"


def _parts(sent: Any, arrived: Any) -> list[tuple[str, Any, Any]]:
    """What two values of one type consist of, side by side; nothing where that cannot be told."""
    if isinstance(sent, BaseModel):
        return _parts(_held(sent), _held(arrived))
    if isinstance(sent, Mapping):
        same = sent.keys() == arrived.keys()
        return [(str(name), value, arrived[name]) for name, value in sent.items()] if same else []
    if isinstance(sent, list | tuple):
        same = len(sent) == len(arrived)
        return [(str(index), *pair) for index, pair in enumerate(zip(sent, arrived, strict=True))] if same else []
    names = getattr(type(sent), "__dataclass_fields__", {})
    return [(name, getattr(sent, name), getattr(arrived, name)) for name in names]


def _held(model: BaseModel) -> dict[str, Any]:
    return {**dict(model), **(model.__pydantic_private__ or {})}


def _equals_nothing(value: Any) -> bool:
    return bool(value != value)  # what NaN is known by


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 20]}…{text[-19:]}"
