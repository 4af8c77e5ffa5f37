"""How a person sees a page, and acts on it."""

import re
from typing import Any, Final

from browsergym_env.models import BrowserGymObservation
from openenv_core.rendering import Labelled, Mark, Part, Picture, Text, visible

__all__ = ["actions", "render"]

_NODE: Final = re.compile(r"\[(\w+)\] (\w+) '((?:[^'\\\\]|\\\\.)*)'(.*)")
_TYPED: Final = ("textbox", "searchbox", "spinbutton")
_PRESSED: Final = (
    *("button", "checkbox", "gridcell", "link", "menuitem", "option", "radio", "slider", "switch", "tab", "treeitem"),
)
_MOST: Final = 60


def render(observation: BrowserGymObservation) -> list[Part]:
    """The goal, the picture, in which a click is a click, and the tree that an agent reads."""
    parts: list[Part] = [Text(visible(observation.goal), label="goal")]
    if observation.screenshot is not None:
        click = {"action_str": "mouse_click({x}, {y})"}
        offered = {bid: one for bid, one in _offered(observation) if bid in observation.boxes}
        marks = tuple(Mark(bid, observation.boxes[bid], one) for bid, one in offered.items())
        parts.append(Picture(observation.screenshot, "the page as it looks now", click, marks))
    if observation.error:
        parts.append(Text(visible(observation.error), "notice"))
    if observation.text:
        parts.append(Text(visible(observation.text)))
    return parts


def actions(observation: BrowserGymObservation) -> list[Labelled]:
    """A click on each element that takes one, by its id; for fields, a text to complete."""
    return [one for _, one in _offered(observation)]


def _offered(observation: BrowserGymObservation) -> list[tuple[str, Labelled]]:
    """The same, each with the id of its element."""
    if observation.done:
        return []
    offered: list[tuple[str, Labelled]] = []
    for bid, role, name, rest in _NODE.findall(observation.axtree_txt):
        called = f"[{bid}] {role}{f' {name!r}' if name else ''}"
        if role in _TYPED:
            offered.append((bid, _action(f"fill({bid!r}, '')", f"{called} …", draft=True)))
        elif role == "combobox":
            offered.append((bid, _action(f"select_option({bid!r}, '')", f"{called} …", draft=True)))
        elif role in _PRESSED or "clickable" in rest:
            offered.append((bid, _action(f"click({bid!r})", called)))
    return offered[:_MOST]


def _action(text: str, label: str, **more: Any) -> Labelled:
    return Labelled({"action_str": text}, label, **more)
