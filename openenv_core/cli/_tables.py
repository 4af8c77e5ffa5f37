"""Tables of commands, of which nothing is cut off."""

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["fits", "print_table"]

_NO_LIMIT: Final = 10_000
"""Columns of what is no terminal: who reads a file or a pipe wants a row on one line, and all of it."""


def print_table(table: "Table") -> None:
    """Print a table: as wide as it is where the output is no terminal; a terminal's width folds what is too long."""
    from rich.console import Console

    for column in table.columns:
        column.overflow = "fold"
    Console(highlight=False, width=_width()).print(table)


def fits(table: "Table") -> bool:
    """Whether a table needs no folding where it is printed."""
    from rich.console import Console

    console = Console(width=_width())
    # What it would take where there were room.
    wanted = console.measure(table, options=console.options.update(width=_NO_LIMIT)).maximum
    return wanted <= console.width


def _width() -> int | None:
    return None if sys.stdout.isatty() else _NO_LIMIT
