"""The page's HTML as text: whole, or pruned as BrowserGym prunes it."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

__all__ = ["prune", "render"]

_DROPPED: Final = frozenset({"style", "link", "script", "br"})
_UNWRAPPED: Final = frozenset({"html", "body"})
_STRUCTURE: Final = frozenset({"div", "span", "i", "p"})
_VERBATIM: Final = frozenset({"pre", "textarea"})
"""White space counts inside these, so they stay on one line with what they hold."""

_VOID_NAMES: Final = "area base basefont br col embed frame hr img input link meta param source track wbr"
_VOID: Final = frozenset(_VOID_NAMES.split())

Token = Any
"""``[tag, {attribute: value}]`` opens an element, ``0`` closes it, a string is text (``scripts/markup.js``)."""


def render(tokens: Iterable[Token]) -> str:
    """A line for each tag and each text, one space for each level. Attributes are sorted by name."""
    return "".join(f"{line}\n" for line in _lines(tokens))


def prune(tokens: Iterable[Token]) -> str:
    """:func:`render` without scripts, styles and line breaks, and without ``html``, ``body`` and elements that only
    hold others: those of a few kinds that have no attribute but their id."""
    return "".join(f"{line}\n" for line in _lines(_pruned(tokens)))


def _pruned(tokens: Iterable[Token]) -> Iterator[Token]:
    is_shown: list[bool] = []
    dropped = 0
    for token in tokens:
        if dropped:
            dropped += 0 if isinstance(token, str) else -1 if token == 0 else 1
        elif isinstance(token, str):
            yield token.replace("\n", " ")
        elif token == 0:
            if is_shown.pop():
                yield token
        elif token[0] in _DROPPED:
            dropped = 1
        else:
            tag, attributes = token
            is_shown.append(tag not in _UNWRAPPED and not (tag in _STRUCTURE and list(attributes) == ["bid"]))
            if is_shown[-1]:
                yield token


def _lines(tokens: Iterable[Token]) -> Iterator[str]:
    stream = iter(tokens)
    open_tags: list[str] = []
    for token in stream:
        indent = " " * len(open_tags)
        if isinstance(token, str):
            text = token.strip()
            if text:
                yield indent + _escaped(text)
        elif token == 0:
            yield f"{indent[1:]}</{open_tags.pop()}>"
        else:
            tag, attributes = token
            shown = "".join(f' {name}="{_escaped(value, quotes=True)}"' for name, value in sorted(attributes.items()))
            if tag in _VERBATIM or tag in _VOID:
                inner = _escaped("".join(_texts_inside(stream)))
                yield f"{indent}<{tag}{shown}/>" if tag in _VOID else f"{indent}<{tag}{shown}>{inner}</{tag}>"
                continue
            yield f"{indent}<{tag}{shown}>"
            open_tags.append(tag)


def _texts_inside(stream: Iterator[Token]) -> Iterator[str]:
    """The texts in an element that has been opened; its end is read too."""
    depth = 1
    for token in stream:
        if isinstance(token, str):
            yield token
            continue
        depth += -1 if token == 0 else 1
        if depth == 0:
            return


def _escaped(text: str, *, quotes: bool = False) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;") if quotes else escaped
