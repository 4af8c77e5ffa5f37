"""The page's HTML as text: whole, or pruned as BrowserGym prunes it."""

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["prune", "render"]

_DROPPED: Final = frozenset({"style", "link", "script", "br"})
_UNWRAPPED: Final = frozenset({"html", "body"})
_STRUCTURE: Final = frozenset({"div", "span", "i", "p"})
_VERBATIM: Final = frozenset({"pre", "textarea"})
"""White space counts inside these, so they stay on one line with what they hold."""

_VOID_NAMES: Final = "area base basefont br col embed frame hr img input link meta param source track wbr"
_VOID: Final = frozenset(_VOID_NAMES.split())

Markup = list[Any]
"""``[tag, {attribute: value}, [child, ...]]``; a child is another such list or a text."""


def render(root: Markup) -> str:
    """A line for each tag and each text, one space for each level. Attributes are sorted by name."""
    return "".join(f"{line}\n" for line in _lines([root]))


def prune(root: Markup) -> str:
    """:func:`render` without scripts, styles and line breaks, and without ``html``, ``body`` and elements that only
    hold others: those of a few kinds that have no attribute but their id."""
    return "".join(f"{line}\n" for line in _lines(_pruned(root)))


def _lines(nodes: list[Any]) -> Iterator[str]:
    waiting: list[tuple[Any, int]] = [(node, 0) for node in reversed(nodes)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, str):
            text = node.strip()
            if text:
                yield " " * depth + _escaped(text)
            continue
        if isinstance(node, tuple):
            yield " " * depth + node[0]
            continue
        tag, attributes, children = node
        shown = "".join(f' {name}="{_escaped(value, quotes=True)}"' for name, value in sorted(attributes.items()))
        if tag in _VOID and not children:
            yield f"{' ' * depth}<{tag}{shown}/>"
            continue
        if tag in _VERBATIM:
            yield f"{' ' * depth}<{tag}{shown}>{_escaped(_text_of(children))}</{tag}>"
            continue
        yield f"{' ' * depth}<{tag}{shown}>"
        waiting.append(((f"</{tag}>",), depth))
        waiting.extend((child, depth + 1) for child in reversed(children))


def _pruned(node: Any) -> list[Any]:
    """What stands for a node once it is pruned: nothing, itself, or its children."""
    if isinstance(node, str):
        return [node.replace("\n", " ")]
    tag, attributes, children = node
    if tag in _DROPPED:
        return []
    kept = [part for child in children for part in _pruned(child)]
    if tag in _UNWRAPPED or (tag in _STRUCTURE and list(attributes) == ["bid"]):
        return kept
    return [[tag, attributes, kept]]


def _text_of(nodes: list[Any]) -> str:
    return "".join(node if isinstance(node, str) else _text_of(node[2]) for node in nodes)


def _escaped(text: str, *, quotes: bool = False) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;") if quotes else escaped
