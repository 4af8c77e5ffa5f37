"""Two recorded episodes side by side."""

import itertools
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from openenv_core.recording.lines import ResetLine, StepLine
from openenv_core.recording.reader import Frame, Recording, with_inline_pictures

__all__ = ["Compared", "Pair", "compare"]


@dataclass(frozen=True)
class Pair:
    """The same step of both; ``None`` where one has ended already.

    Attributes:
        step: 0 for the reset.
        actions, rewards: of the first and of the second.
        same_action, same_observation: whether both did, and saw, the same.
    """

    step: int
    actions: tuple[Any, Any]
    rewards: tuple[Any, Any]
    same_action: bool
    same_observation: bool


@dataclass(frozen=True)
class Compared:
    """What two episodes have in common.

    Attributes:
        pairs: step by step.
        first_other_action, first_other_observation: the first step in which they differ; ``None`` where they do not.
    """

    pairs: list[Pair]
    first_other_action: int | None
    first_other_observation: int | None


def compare(one: Recording, other: Recording) -> Compared:
    """Lay the resets and steps of two episodes beside each other. Metadata and times do not count."""
    sides = [[_Side.of(recording, frame) for frame in _observed(recording)] for recording in (one, other)]
    both = itertools.zip_longest(*sides, fillvalue=_NOTHING)
    pairs = [_pair(step, *side) for step, side in enumerate(both)]
    return Compared(
        pairs,
        next((pair.step for pair in pairs if not pair.same_action), None),
        next((pair.step for pair in pairs if not pair.same_observation), None),
    )


def _observed(recording: Recording) -> list[Frame]:
    return [frame for frame in recording.frames if isinstance(frame.line, ResetLine | StepLine)]


class _Side(NamedTuple):
    """One step of one episode; its pictures as they are, for their names may differ."""

    action: Any = None
    reward: Any = None
    seen: Any = None

    @classmethod
    def of(cls, recording: Recording, frame: Frame) -> "_Side":
        line = frame.line
        assert isinstance(line, ResetLine | StepLine)
        action = line.action if isinstance(line, StepLine) else None
        seen = with_inline_pictures(recording.path, frame.observation)
        return cls(_without_metadata(action), line.reward, _without_metadata(seen))


_NOTHING: Final = _Side()


def _pair(step: int, one: _Side, other: _Side) -> Pair:
    return Pair(
        step,
        (one.action, other.action),
        (one.reward, other.reward),
        one.action == other.action,
        one.seen == other.seen,
    )


def _without_metadata(value: Any) -> Any:
    return {name: item for name, item in value.items() if name != "metadata"} if isinstance(value, dict) else value
