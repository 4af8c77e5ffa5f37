"""Samples of one figure by contestant, its target, and how a table of figures is printed and written."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["Row", "Samples", "interleaved", "print_table", "write_json"]

SampleT = TypeVar("SampleT")

Samples = dict[str, list[float]]


@dataclass
class Row:
    """One figure.

    Attributes:
        figure: what was measured.
        unit: of the printed values.
        samples: one value for each repeat, by contestant; the n-th of each were taken one right after another.
        over: the contestant that ``ours`` is divided by.
        at_most, at_least: the target for that ratio; at most one of them is given.
        scale: what a sample is multiplied by for print.
    """

    figure: str
    unit: str
    samples: Samples
    over: str = "peer"
    at_most: float | None = None
    at_least: float | None = None
    scale: float = 1.0
    ratio: float | None = field(init=False)

    def __post_init__(self) -> None:
        ours, other = self.samples.get("ours", []), self.samples.get(self.over, [])
        # The ratio of what was measured at the same time: a busy moment of the machine touches both.
        ratios = [a / b for a, b in zip(ours, other, strict=True) if b] if ours and other else []
        self.ratio = statistics.median(ratios) if ratios else None

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; ``None`` without a target or a ratio."""
        if self.ratio is None or (self.at_most is None and self.at_least is None):
            return None
        return self.ratio <= self.at_most if self.at_most is not None else self.ratio >= (self.at_least or 0.0)

    @property
    def target(self) -> str:
        """The target in words."""
        if self.at_most is not None:
            return f"<= {self.at_most:.3g} x {self.over}"
        return f">= {self.at_least:.3g} x {self.over}" if self.at_least is not None else ""

    def cells(self, contestants: Sequence[str]) -> list[str]:
        """The row of the printed table."""
        values = [self._value(name) for name in contestants]
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else ""
        return [self.figure, self.unit, *values, ratio, self.target, {True: "yes", False: "NO", None: ""}[self.reached]]

    def as_json(self) -> dict[str, Any]:
        """Everything, in the units of the samples."""
        return {
            "figure": self.figure,
            "unit": self.unit,
            "median": {name: self.median(name) for name in self.samples},
            "samples": {name: [value * self.scale for value in values] for name, values in self.samples.items()},
            "over": self.over,
            "ratio": self.ratio,
            "target": self.target,
            "reached": self.reached,
        }

    def median(self, name: str) -> float:
        """The middle sample of a contestant, in the printed unit."""
        return statistics.median(self.samples[name]) * self.scale

    def _value(self, name: str) -> str:
        if name not in self.samples:
            return ""
        value = self.median(name)
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def interleaved(measures: Mapping[str, Callable[[], SampleT]], repeats: int) -> dict[str, list[SampleT]]:
    """Take each measure ``repeats`` times, in turn, beginning with another one each time."""
    names = list(measures)
    samples: dict[str, list[SampleT]] = {name: [] for name in names}
    for repeat in range(repeats):
        turn = repeat % len(names)
        for name in names[turn:] + names[:turn]:
            samples[name].append(measures[name]())
    return samples


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header; the columns are as wide as they need."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def write_json(path: Path, facts: Mapping[str, Any], tables: Mapping[str, Sequence[Row]]) -> None:
    """Write every sample of every table."""
    content = {**facts, **{name: [row.as_json() for row in rows] for name, rows in tables.items()}}
    path.write_text(json.dumps(content, indent=1) + "\n")
