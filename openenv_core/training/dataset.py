"""Datasets for environments: prompts that are all the same, and a seed for each group."""

import importlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from openenv_core.errors import ConfigurationError

__all__ = ["make_dataset", "make_rows"]


def make_rows(
    n: int,
    seed: int = 0,
    *,
    prompt: str,
    system: str | None = None,
    environment: str | None = None,
    options: Mapping[str, Any | Sequence[Any]] | None = None,
) -> list[dict[str, Any]]:
    """Rows for a trainer: one group of rollouts each, all of which start in the same state, as the seed makes it.

    Args:
        n: number of rows.
        seed: determines the seeds of the rows, which all differ.
        prompt: what the user says; the environment's first observation is added to it.
        system: what the system says before.
        environment: value of the column ``environment``, for several environments in one run.
        options: further columns for the environment's ``reset``; a list is taken in turn.
    """
    if n < 1:
        raise ConfigurationError(f"n is {n}; it must be 1 or more")
    seeds = random.Random(seed).sample(range(2**31), n)
    said = [{"role": "user", "content": prompt}]
    if system is not None:
        said.insert(0, {"role": "system", "content": system})
    rows = []
    for index, row_seed in enumerate(seeds):
        row: dict[str, Any] = {"prompt": [dict(message) for message in said], "seed": row_seed}
        if environment is not None:
            row["environment"] = environment
        for name, value in (options or {}).items():
            row[name] = value[index % len(value)] if isinstance(value, list | tuple) else value
        rows.append(row)
    return rows


def make_dataset(n: int, seed: int = 0, **arguments: Any) -> Any:
    """:func:`make_rows` as a ``datasets.Dataset``."""
    return importlib.import_module("datasets").Dataset.from_list(make_rows(n, seed, **arguments))
