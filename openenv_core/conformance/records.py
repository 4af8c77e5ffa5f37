"""Episodes as they were played: serialised copies, never objects that an environment may change later. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from openenv_core.errors import OpenEnvError

__all__ = ["Trajectory", "Turn", "document_difference", "read", "text_of", "texts_in", "trajectory_difference"]

_SHORTEST_TELLING_TEXT = 4
"""Shorter texts turn up by chance."""


def text_of(document: Any) -> str:
    """Plain values as JSON text, the keys in their order: an environment may show it."""
    return json.dumps(document, ensure_ascii=False)


def read(text: str) -> Any:
    """The plain values of such a text."""
    return json.loads(text)


@dataclass(frozen=True)
class Turn:
    """A reset or a step, and what came of it.

    Attributes:
        action: the action as JSON text; ``None`` for a reset.
        observation: the whole observation as JSON text; ``None`` where the call failed.
        reward, done, truncated: of the step result.
        error: what the call ended with instead.
    """

    action: str | None = None
    observation: str | None = None
    reward: Any = None
    done: Any = False
    truncated: Any = False
    error: OpenEnvError | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The observation as plain values; empty where the call failed."""
        found: dict[str, Any] = read(self.observation) if self.observation is not None else {}
        return found


@dataclass(frozen=True)
class Trajectory:
    """An episode, or as much of it as was played.

    Attributes:
        seed: what it was reset with; ``None`` for no seed.
        episode_id: the name that it was given.
        turns: the reset, then the steps.
        refused: actions that were tried meanwhile and refused as not legal. They are not among the turns.
    """

    seed: int | None
    episode_id: str
    turns: tuple[Turn, ...]
    refused: int = 0

    @property
    def actions(self) -> list[dict[str, Any]]:
        """The actions of the steps, as plain values."""
        return [read(turn.action) for turn in self.turns if turn.action is not None]

    @property
    def legal_action(self) -> dict[str, Any] | None:
        """The first action that was done; ``None`` where none was."""
        done = (turn.action for turn in self.turns if turn.action is not None and turn.error is None)
        found: dict[str, Any] | None = read(next(done, "null"))
        return found

    @property
    def steps(self) -> int:
        """Number of steps that gave an observation."""
        return sum(turn.action is not None and turn.error is None for turn in self.turns)

    @property
    def is_over(self) -> bool:
        """Whether it was played to its end."""
        return bool(self.turns and self.turns[-1].done)

    @property
    def errors(self) -> list[OpenEnvError]:
        """The errors of its turns."""
        return [turn.error for turn in self.turns if turn.error is not None]

    def head(self, steps: int) -> "Trajectory":
        """The reset and the first steps alone."""
        return replace(self, turns=self.turns[: steps + 1])


def document_difference(one: Any, other: Any, path: str = "") -> str | None:
    """Where two documents differ, and how; ``None`` for equal ones. ``1`` equals ``1.0``, but not ``True``."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if key not in one or key not in other:
                return f"{path}{key} is there once and missing the other time"
            if found := document_difference(one[key], other[key], f"{path}{key}."):
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (item, twin) in enumerate(zip(one, other, strict=True)):
            if found := document_difference(item, twin, f"{path}{index}."):
                return found
        return None
    if one == other and isinstance(one, bool) == isinstance(other, bool):
        return None
    if one != one and other != other:  # NaN, which a server of version 1 may send as it is
        return None
    return f"{path.rstrip('.') or 'the value'} is {_short(one)} once and {_short(other)} the other time"


def trajectory_difference(one: Trajectory, other: Trajectory) -> str | None:
    """Where two plays of the same actions differ; ``None`` for equal ones.

    Metadata does not count: it is diagnostics, such as times, that a policy must not need.
    """
    for number, (turn, twin) in enumerate(zip(one.turns, other.turns, strict=False)):
        if found := _turn_difference(turn, twin):
            return f"{'after reset' if number == 0 else f'after step {number}'} {found}"
    if len(one.turns) != len(other.turns):
        return f"the episode has {len(one.turns) - 1} steps once and {len(other.turns) - 1} the other time"
    return None


def _turn_difference(turn: Turn, twin: Turn) -> str | None:
    outcomes = [each.error.code if each.error is not None else "an observation" for each in (turn, twin)]
    if outcomes[0] != outcomes[1]:
        return f"there is {outcomes[0]} once and {outcomes[1]} the other time"
    return document_difference(_without_metadata(turn), _without_metadata(twin))


def _without_metadata(turn: Turn) -> dict[str, Any]:
    return {key: value for key, value in turn.document.items() if key != "metadata"}


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a document that are long enough to be told from chance; its keys do not count."""
    if isinstance(value, str):
        if len(value.strip()) >= _SHORTEST_TELLING_TEXT:
            yield value.strip()
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}…{text[-16:]}"
