"""A curve of rewards, as a picture and as a line of text."""

from collections.abc import Sequence
from pathlib import Path

__all__ = ["draw", "smoothed", "sparkline"]

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT, _MARGIN = 640, 320, 48


def sparkline(values: Sequence[float], low: float = 0.0, high: float = 1.0) -> str:
    """One character for each value, ``low`` to ``high``."""
    span = (high - low) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, max(0, int((value - low) / span * len(_BARS))))] for value in values)


def smoothed(values: Sequence[float], window: int = 5) -> list[float]:
    """Means of the last ``window`` values at each place."""
    return [sum(part) / len(part) for end in range(1, len(values) + 1) if (part := values[max(0, end - window) : end])]


def draw(values: Sequence[float], path: Path, *, title: str, low: float = 0.0, high: float = 1.0) -> None:
    """Write the curve as an SVG picture: each value as a dot, their running mean as a line."""

    def place(index: int, value: float) -> tuple[float, float]:
        x = _MARGIN + (_WIDTH - 2 * _MARGIN) * index / max(1, len(values) - 1)
        y = _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (value - low) / ((high - low) or 1.0)
        return round(x, 1), round(y, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_WIDTH / 2}" y="24" text-anchor="middle" font-size="15">{title}</text>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 10}" text-anchor="middle" font-size="12">step</text>',
    ]
    for mark in (low, (low + high) / 2, high):
        _, y = place(0, mark)
        parts.append(f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{_MARGIN - 8}" y="{y + 4}" text-anchor="end" font-size="12">{mark:g}</text>')
    for index in (0, len(values) - 1):
        x, _ = place(index, low)
        parts.append(
            f'<text x="{x}" y="{_HEIGHT - _MARGIN + 16}" text-anchor="middle" font-size="12">{index + 1}</text>'
        )
    for index, value in enumerate(values):
        x, y = place(index, value)
        parts.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="#9ab"/>')
    line = " ".join(f"{x},{y}" for x, y in (place(index, value) for index, value in enumerate(smoothed(values))))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#c33" stroke-width="2"/></svg>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")
