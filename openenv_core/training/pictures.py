"""Pictures of a batch of rollouts, as a vision model's processor gives them: taken apart, and put together again.

A processor's fields are tensors whose first dimension runs over the pictures of the batch, or over their patches where
``image_grid_thw`` tells how many each has; and lists with one item for each rollout.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["can_be_joined", "joined_fields", "split_fields"]

Fields = dict[str, Any]


def split_fields(fields: Mapping[str, Any], images: Sequence[Any] | None, size: int) -> list[Fields] | None:
    """The fields of each of ``size`` rollouts; ``None`` where it cannot be told whose is what.

    Args:
        fields: of the batch.
        images: the pictures of each rollout, or ``None`` for one without; ``None`` for a batch without pictures.
        size: number of rollouts.
    """
    counts = [len(pictures or ()) for pictures in images] if images is not None else [0] * size
    grid = fields.get("image_grid_thw")
    rows = counts if grid is None else _rows(grid.prod(-1).tolist(), counts)
    parts: list[Fields] = [{} for _ in range(size)]
    for name, value in fields.items():
        if isinstance(value, list):
            if len(value) != size:
                return None
            items: Sequence[Any] = [[item] for item in value]
        elif not hasattr(value, "split"):
            return None
        else:
            lengths = next((found for found in (counts, rows) if sum(found) == len(value)), None)
            if lengths is None or (name == "pixel_values" and sum(rows) != len(value)):
                return None
            items = value.split(rows if name == "pixel_values" else lengths)
        for part, item in zip(parts, items, strict=True):
            if len(item):
                part[name] = item
    return parts


def _rows(patches: list[int], counts: list[int]) -> list[int]:
    """The patches of each rollout, from those of each picture."""
    found, start = [], 0
    for count in counts:
        found.append(sum(patches[start : start + count]))
        start += count
    return found


def can_be_joined(fields: Sequence[Fields]) -> bool:
    """Whether the tensors of all rollouts have one shape, but for their first dimension."""
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for one in fields:
        for name, value in one.items():
            if hasattr(value, "shape"):
                shapes.setdefault(name, set()).add(tuple(value.shape[1:]))
    return all(len(found) == 1 for found in shapes.values())


def joined_fields(fields: Sequence[Fields]) -> Fields:
    """The fields of a batch, from those of its rollouts.

    What not all rollouts have, if it is no tensor, is left out: trainers make it anew where tools have shown pictures.
    """
    names = dict.fromkeys(name for one in fields for name in one)
    joined: Fields = {}
    for name in names:
        values = [one[name] for one in fields if name in one]
        if hasattr(values[0], "shape"):
            joined[name] = importlib.import_module("torch").cat(values)
        elif len(values) == len(fields):
            joined[name] = [item for value in values for item in value]
    return joined
