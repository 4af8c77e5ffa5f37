"""The files of the template, which come with the package."""

from collections.abc import Iterator
from pathlib import Path

__all__ = ["is_source", "template_files", "template_text"]

_CACHES = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
"""What tools leave in a checkout."""

_TEMPLATES = Path(__file__).parent / "templates"


def is_source(path: Path) -> bool:
    """Whether a file is one of the package's own, not one that a tool has left beside them."""
    return path.is_file() and _CACHES.isdisjoint(path.parts)


def template_text(name: str) -> str:
    """One file of the template."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def template_files(part: str) -> Iterator[tuple[str, str]]:
    """The files of a part of the template, by their paths."""
    root = _TEMPLATES / part
    for path in sorted(root.rglob("*")):
        if is_source(path):
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
