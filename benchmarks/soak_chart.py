"""The figures of a soak: a table's cells, a line of text, a drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from xml.sax.saxutils import escape

__all__ = ["Sample", "draw_svg", "sparkline"]

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT, _MARGIN = 720, 130, 60


@dataclass(frozen=True)
class Sample:
    """What a server held at a moment; ``server_mb`` without its workers."""

    HEADER: ClassVar[Sequence[str]] = (
        "minute",
        "sessions",
        "episodes",
        "losses",
        "server MiB",
        "workers",
        "threads",
        "descriptors",
    )

    minute: float
    sessions: int
    episodes: int
    losses: int
    server_mb: float
    workers: int
    threads: int
    descriptors: int

    def cells(self) -> list[str]:
        """The row of a table."""
        counts = [self.sessions, self.episodes, self.losses]
        held = [self.workers, self.threads, self.descriptors]
        return [f"{self.minute:.2f}", *map(str, counts), f"{self.server_mb:.1f}", *map(str, held)]


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Values as a line of bars between their smallest and their largest, which stand at its end."""
    step = max(1, -(-len(values) // width))
    means = [sum(values[i : i + step]) / len(values[i : i + step]) for i in range(0, len(values), step)]
    low, high = min(means), max(means)
    bars = "".join(_BARS[round((mean - low) / (high - low or 1) * (len(_BARS) - 1))] for mean in means)
    return f"{bars} {low:.0f} to {high:.0f}"


def draw_svg(title: str, samples: Sequence[Sample]) -> str:
    """Sessions, memory, descriptors and losses over time, below each other."""
    panels = ("sessions", "server_mb", "descriptors", "losses")
    height = _MARGIN + len(panels) * (_HEIGHT + 40)
    drawn = "".join(_panel(name, samples, _MARGIN + place * (_HEIGHT + 40)) for place, name in enumerate(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 2 * _MARGIN}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{_MARGIN}" y="30" font-size="18">{escape(title)}</text>{drawn}</svg>\n'
    )


def _panel(name: str, samples: Sequence[Sample], top: int) -> str:
    values = [float(getattr(sample, name)) for sample in samples]
    high = max([*values, 1.0])
    minutes = samples[-1].minute or 1.0
    points = " ".join(
        f"{_MARGIN + sample.minute / minutes * _WIDTH:.1f},{top + _HEIGHT * (1 - value / high):.1f}"
        for sample, value in zip(samples, values, strict=True)
    )
    bottom = top + _HEIGHT
    return (
        f'<text x="{_MARGIN}" y="{top - 6}">{name.replace("_mb", " memory, MiB")}</text>'
        f'<path d="M{_MARGIN} {top}V{bottom}H{_MARGIN + _WIDTH}" fill="none" stroke="#888"/>'
        f'<text x="{_MARGIN - 6}" y="{top + 10}" text-anchor="end">{high:.0f}</text>'
        f'<text x="{_MARGIN - 6}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{_MARGIN + _WIDTH}" y="{bottom + 16}" text-anchor="end">{minutes:.1f} min</text>'
        f'<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="1.5"/>'
    )
