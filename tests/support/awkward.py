"""An environment that does everything an author can do wrong, one word each."""

import datetime
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy
from pydantic import field_validator

from openenv_core.environment import Environment
from openenv_core.types import Action, Observation, State

__all__ = ["VALUES", "Awkward", "AwkwardInline", "BrokenFactory", "Do", "Got", "Told"]


class Do(Action):
    """What to do: one of the words of :class:`Awkward`."""

    word: str = "go"
    size: int = 0

    @field_validator("word")
    @classmethod
    def _check(cls, word: str) -> str:
        if word == "refused":
            raise ValueError("this word is refused")
        if word == "breaks the check":
            raise KeyError(word)
        return word


class Got(Observation):
    """What came of it."""

    steps: int = 0
    value: Any = None
    blob: bytes = b""
    when: datetime.datetime | None = None


class Told(State):
    """The state."""

    value: Any = None


VALUES: dict[str, tuple[Any, Any]] = {
    "number": (numpy.float32(1.5), 1.5),
    "integer": (numpy.int64(7), 7),
    "truth": (numpy.bool_(True), True),
    "array": (numpy.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
    "gaps": (numpy.array([1.0, numpy.nan, numpy.inf]), [1.0, "NaN", "Infinity"]),
    "text bytes": (b"text", "text"),
    "bytes": (b"\xff\x00", "data:;base64,/wA="),
    "moment": (datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC), "2024-05-01T12:30:00Z"),
    "day": (datetime.date(2024, 5, 1), "2024-05-01"),
    "set": ({3}, [3]),
    "nested": ({"a": [b"\xff", {"b": numpy.float64(0.25)}]}, {"a": ["data:;base64,/w==", {"b": 0.25}]}),
    "unicode": ("naïve \U0001f600 \x00", "naïve \U0001f600 \x00"),
}
"""Values by name, and what a client gets to see of them."""


@dataclass
class Half:
    """An observation that knows no reward."""

    done: bool = False


class Awkward(Environment[Do, Got, Told]):
    """Says how many steps there were, unless it is told to misbehave."""

    concurrency_safe = True
    execution: ClassVar[Any] = "thread"
    max_steps = 50
    closes: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.steps = 0
        self.state_word = "go"

    def reset(
        self, *, seed: int | None = None, mood: Literal["good", "bad"] = "good", size: int = 0, fails: bool = False
    ) -> Got:
        if fails:
            raise RuntimeError("the reset broke")
        self.steps = 0
        return Got(value="x" * size if size else mood)

    def step(self, action: Do) -> Any:
        self.steps += 1
        found = Got(steps=self.steps, reward=0.5, value="x" * action.size if action.size else None)
        kind, _, name = action.word.partition(": ")
        if kind == "value":
            found.value = VALUES[name][0]
            found.metadata = {"value": VALUES[name][0]}
        elif kind == "state":
            self.state_word = name
        elif action.word in self._deeds():
            return self._deeds()[action.word](found)
        return found

    def _deeds(self) -> dict[str, Callable[[Got], Any]]:
        return {
            "end": lambda found: _with(found, done=True),
            "cut": lambda found: _with(found, truncated=True),
            "nan": lambda found: _with(found, reward=float("nan")),
            "endless": lambda found: _with(found, reward=float("-inf")),
            "raise": _raise(RuntimeError("the step broke")),
            "raise nothing": _raise(ValueError()),
            "raise odd text": _raise(ValueError("half a pair: \udcff")),
            "exit": _raise(SystemExit(3)),
            "stop": _raise(StopIteration(3)),
            "none": lambda found: None,
            "dict": lambda found: {"steps": 1},
            "class": lambda found: Got,
            "half": lambda found: Half(),
            "opaque": lambda found: _with(found, value=object()),
            "opaque metadata": lambda found: _with(found, metadata={"value": object()}),
            "half a pair": lambda found: _with(found, value="\udcff"),
            "typed bytes": lambda found: _with(found, blob=b"\xff\x00"),
            "typed moment": lambda found: _with(found, when=VALUES["moment"][0]),
        }

    @property
    def state(self) -> Told:
        if self.state_word == "raise":
            raise RuntimeError("the state broke")
        if self.state_word == "opaque":
            return Told(step_count=self.steps, value=object())
        return Told(step_count=self.steps, value=VALUES.get(self.state_word, (self.state_word,))[0])

    def close(self) -> None:
        self.closes.append("closed")
        raise OSError("the close broke")


class AwkwardInline(Awkward):
    """The same on the event loop."""

    execution = "inline"


class BrokenFactory(Awkward):
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("the constructor broke")


def _with(found: Got, **fields: Any) -> Got:
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def _raise(error: BaseException) -> Callable[[Got], Any]:
    return functools.partial(_raise_it, error)


def _raise_it(error: BaseException, found: Got) -> Any:
    raise error
