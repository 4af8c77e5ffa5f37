"""How an author's own functions say what is shown of an environment, and what can be done in it."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from openenv_core.rendering.parts import Cell, Grid, Html, Labelled, Part, Picture, Text
from openenv_core.rendering.text import visible
from openenv_core.types import Image

__all__ = ["NO_HOOKS", "Hooks", "hooks_of"]


@dataclass(frozen=True)
class Hooks:
    """What an author gives. Both take an observation: the model itself, as ``reset`` and ``step`` return it.

    Attributes:
        render: what a person is shown: ``Grid``, ``Text``, ``Html``, ``Picture``, an ``Image`` of
            :mod:`openenv_core.types`, a plain ``str``, or a list of these. ``None`` leaves it to the framework.
        actions: the actions that can be done now, each a :class:`Labelled` or a pair of label and action.
    """

    render: Callable[[Any], Any] | None = None
    actions: Callable[[Any], Any] | None = None

    def parts(self, observation: Any) -> list[Part] | None:
        """What is shown of an observation; ``None`` where the framework decides."""
        shown = None if self.render is None else self.render(observation)
        if shown is None:
            return None
        return [_part(item) for item in (shown if isinstance(shown, list | tuple) else [shown])]

    def labelled(self, observation: Any) -> list[Labelled] | None:
        """The actions that have a name, as plain values; ``None`` where the framework decides."""
        offered = None if self.actions is None else self.actions(observation)
        return None if offered is None else [_labelled(item) for item in offered]


NO_HOOKS = Hooks()


def hooks_of(
    cls: Any, render: Callable[[Any], Any] | None = None, actions: Callable[[Any], Any] | None = None
) -> Hooks:
    """The given functions, and for those that are not given the class's own, where it has static methods of the names.

    A ``render`` that is no static method is something else: Gymnasium's, say.
    """
    return Hooks(render or _static(cls, "render"), actions or _static(cls, "actions"))


def _static(cls: Any, name: str) -> Callable[[Any], Any] | None:
    if not isinstance(cls, type) or not isinstance(inspect.getattr_static(cls, name, None), staticmethod):
        return None
    found: Callable[[Any], Any] = getattr(cls, name)
    return found


def _part(shown: Any) -> Part:
    if isinstance(shown, str):
        return Text(visible(shown))
    if isinstance(shown, Text):
        return replace(shown, text=visible(shown.text), label=visible(shown.label))
    if isinstance(shown, Grid):
        return replace(shown, rows=tuple(tuple(map(_cell, row)) for row in shown.rows))
    if isinstance(shown, Image):
        return Picture(shown)
    if isinstance(shown, Html | Picture):
        return shown
    raise TypeError(f"render gave a {type(shown).__name__}; it must be Grid, Text, Html, Picture, Image or str")


def _cell(cell: Cell | str) -> Cell:
    return Cell(visible(cell)) if isinstance(cell, str) else replace(cell, text=visible(cell.text))


def _labelled(offered: Any) -> Labelled:
    one = offered if isinstance(offered, Labelled) else Labelled(*_pair(offered))
    action = one.action
    if isinstance(action, BaseModel):
        action = action.model_dump(mode="json", exclude_unset=True)
    return replace(one, action=dict(action), label=visible(one.label))


def _pair(offered: Iterable[Any]) -> tuple[Any, str]:
    try:
        label, action = offered
    except (TypeError, ValueError):
        raise TypeError("actions must give Labelled objects, or pairs of a label and an action") from None
    return action, str(label)
