"""What an environment tells of itself in words: its README, found and made into HTML."""

import inspect
import os
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["found_readme", "markdown_html"]

_LARGEST: Final = 500_000
_FRONT_MATTER: Final = re.compile(r"\A---\r?\n.*?\n---\r?\n", re.DOTALL)
"""The head of a Space's card."""

_SHIFT: Final = 2
"""A README's title stands below a heading of the page's own."""


def found_readme(told: str | None, entry: EntryPoint | None, cls: type[Any] | None) -> str:
    """Markdown: what the environment itself gives, else ``ENV_README_PATH``, else the README of the distribution that
    installed it, else the docstring of its class."""
    text = told or _of_file(os.environ.get("ENV_README_PATH")) or _of_distribution(entry)
    text = text or inspect.cleandoc(getattr(cls, "__doc__", None) or "")
    return _FRONT_MATTER.sub("", text).lstrip("\r\n")[:_LARGEST]


def _of_file(name: str | None) -> str:
    path = Path(name) if name else None
    return path.read_text(encoding="utf-8", errors="replace") if path is not None and path.is_file() else ""


def _of_distribution(entry: EntryPoint | None) -> str:
    if entry is None or entry.dist is None:
        return ""
    return str(entry.dist.metadata.json.get("description") or "")


def markdown_html(text: str) -> str:
    """Markdown as HTML that may stand in a page: HTML in it is shown as text, addresses that run something are not
    linked, and neither are those that lead to other files of a repository."""
    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = renderer.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _SHIFT)}"
        if token.type == "table_open":
            token.attrSet("tabindex", "0")  # it may be wider than a phone, and then the keyboard must move it
        for inner in token.children or ():
            _mend_link(inner)
    html: str = renderer.renderer.render(tokens, renderer.options, {})
    return html


def _mend_link(token: Token) -> None:
    if token.type != "link_open":
        return
    if re.match(r"https?://", str(token.attrGet("href"))):
        token.attrSet("rel", "noopener noreferrer")
        token.attrSet("target", "_blank")
    elif not str(token.attrGet("href")).startswith("#"):
        token.attrs.pop("href", None)
