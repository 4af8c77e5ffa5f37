"""Functions that become tools."""

from collections.abc import Sequence
from typing import Literal

Mode = Literal["sum", "product"]


def combine(numbers: Sequence[int], mode: Mode = "sum") -> int:
    """Combine numbers.

    Args:
        numbers: what to combine.
        mode: how.

    Returns:
        The result.
    """
    result = 0 if mode == "sum" else 1
    for number in numbers:
        result = result + number if mode == "sum" else result * number
    return result


async def shout(text: str, *, times: int = 1) -> str:
    """Say it loudly."""
    return " ".join([text.upper()] * times)


def bare(anything):  # type: ignore[no-untyped-def]
    """What it takes is not said."""


def anything(*values: int) -> int:
    """Takes what it gets."""
    return sum(values)
