"""The accessibility tree as text, line for line as BrowserGym writes it.

A node is a line: tabs for its depth, ``[id]`` where its element has one, the role, the name, the value, then its
properties. Nodes that say nothing are left out and their children take their depth.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["NOTE_PREFIX", "render"]

NOTE_PREFIX = "bid:"
"""What stands before an element's id in the attributes that the tree tells (``scripts/marks.js``)."""

_SILENT_ROLES = frozenset({"LineBreak", "InlineTextBox"})
_SILENT_PROPERTIES = frozenset(
    {"editable", "readonly", "level", "settable", "multiline", "invalid", "focusable", "roledescription"}
)
_BARE_PROPERTIES = frozenset({"required", "focused", "atomic"})

Node = Mapping[str, Any]


def render(nodes: Sequence[Node]) -> str:
    """The text of a tree.

    Args:
        nodes: what ``Accessibility.getFullAXTree`` of the DevTools protocol returns, the root first.
    """
    if not nodes:
        return ""
    by_id = {node["nodeId"]: node for node in nodes}
    return "\n".join(_lines(nodes[0], by_id))


def _lines(root: Node, by_id: Mapping[str, Node]) -> Iterator[str]:
    # A stack, not recursion: a page can nest deeper than Python may.
    waiting: list[tuple[Node, int, str]] = [(root, 0, "")]
    while waiting:
        node, depth, parent_name = waiting.pop()
        is_silent = node["role"]["value"] in _SILENT_ROLES or "name" not in node
        name = "" if is_silent else str(node["name"].get("value", ""))
        line = None if is_silent else _line(node, name, parent_name)
        if line is not None:
            yield "\t" * depth + line
            depth += 1
        children = [by_id[child] for child in node.get("childIds", ()) if child in by_id]
        waiting.extend((child, depth, name) for child in reversed(children))


def _line(node: Node, name: str, parent_name: str) -> str | None:
    """One node without its depth; ``None`` where it says nothing that its parent does not."""
    role = node["role"]["value"]
    properties = list(_properties(node))
    if role == "generic" and not properties:
        return None
    if role == "StaticText" and name in parent_name:
        return None
    number = _number(node)
    text = f"[{number}] " if number else ""
    text += role if role == "generic" and not name else f"{role} {name.strip()!r}"
    value = node.get("value", {}).get("value")
    if value is not None:
        text += f" value={value!r}"
    return ", ".join([text, *properties])


def _properties(node: Node) -> Iterator[str]:
    for entry in node.get("properties", ()):
        name, value = entry["name"], entry.get("value", {}).get("value")
        if name in _SILENT_PROPERTIES or "value" not in entry.get("value", {}):
            continue
        if name not in _BARE_PROPERTIES:
            yield f"{name}={value!r}"
        elif value:
            yield name


def _number(node: Node) -> str:
    """The id of the node's element; parts of a field that the browser draws itself carry their field's."""
    told = [entry["value"].get("value") for entry in node.get("properties", ()) if entry["name"] == "roledescription"]
    told.append(node.get("description", {}).get("value"))
    for note in told:
        if isinstance(note, str) and note.startswith(NOTE_PREFIX):
            return note.removeprefix(NOTE_PREFIX)
    return ""
