"""The toy environment in our terms. ``toy_peer`` is its twin: change both together.

A word chooses what a step does, so that one environment shows every kind of reply.
"""

import math
from typing import Any, Literal

import numpy
from pydantic import Field, field_validator

from openenv_core.environment import Environment
from openenv_core.server import create_app
from openenv_core.types import Action, Observation, State


class ToyAction(Action):
    """Say a word."""

    text: str = Field(min_length=1, max_length=20)
    times: int = Field(default=1, ge=1, le=3)
    voice: Literal["plain", "loud"] = "plain"
    tags: list[int] = []

    @field_validator("text")
    @classmethod
    def _refuse(cls, text: str) -> str:
        if text == "veto":
            raise ValueError("this word is refused")
        return text


class ToyObservation(Observation):
    """What came back."""

    echoed: str = ""
    count: int = 0
    blob: bytes | None = None
    number: float = 0.0
    extra: Any = None


class ToyState(State):
    """Episode id, number of steps, chosen difficulty."""

    difficulty: str = "easy"


class ToyEnvironment(Environment[ToyAction, ToyObservation, ToyState]):
    """Says back what it is told."""

    concurrency_safe = True
    # As the public package runs every environment: nothing is refused before the first reset and after the end.
    episode_policy = "lenient"

    def __init__(self) -> None:
        self._state = ToyState(episode_id="unnamed")

    def reset(
        self, *, seed: int | None = None, episode_id: str | None = None, difficulty: str = "easy"
    ) -> ToyObservation:
        if difficulty == "boom":
            raise RuntimeError("reset exploded")
        self._state = ToyState(episode_id=episode_id or "unnamed", difficulty=difficulty)
        return ToyObservation(echoed=f"ready seed={seed} difficulty={difficulty}")

    def step(self, action: ToyAction, timeout_s: float | None = None) -> ToyObservation:
        if action.text == "boom":
            raise RuntimeError("step exploded")
        if action.text == "key":
            raise KeyError("missing")
        if action.text == "silent":
            raise ValueError
        self._state.step_count += 1
        observation = ToyObservation(echoed=action.text * action.times, count=self._state.step_count, reward=1)
        for name, value in SPECIALS.get(action.text, {}).items():
            setattr(observation, name, value)
        return observation

    @property
    def state(self) -> ToyState:
        return self._state


SPECIALS: dict[str, dict[str, Any]] = {
    "meta": {"metadata": {"k": 1, "nested": {"list": [1, 2.5, None, True]}}},
    "true": {"reward": True},
    "float": {"reward": 0.1, "number": 1e22},
    "tiny": {"reward": 1e-07, "number": 123456789.123},
    "none": {"reward": None},
    "end": {"done": True, "reward": -1.5},
    "text-bytes": {"blob": b"hi \xc3\xa9"},
    "raw-bytes": {"blob": b"\xff\xfe"},
    "nan-reward": {"reward": math.nan},
    "infinite": {"number": math.inf},
    "array": {"extra": numpy.arange(3)},
    "scalar": {"extra": numpy.float32(0.5)},
    "nested": {"extra": {"a": [1, {"b": None}], "é": "☃"}},
}


class TaskToyEnvironment(ToyEnvironment):
    """The same with tasks in splits."""

    _tasks = ({"id": "a"}, {"id": "b"}, {"id": "c"})

    def list_splits(self) -> list[Any]:
        return ["train", {"name": "held", "type": "validation"}, "x"]

    def list_tasks(self, split: str) -> list[Any]:
        return list(self._tasks)

    def num_tasks(self, split: str) -> int:
        return len(self._tasks)

    def get_task(self, split: str, index: int) -> Any:
        return self._tasks[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        return list(self._tasks[start:stop])


def broken_factory() -> ToyEnvironment:
    """Never makes an environment."""
    raise RuntimeError("no world today")


app = create_app(TaskToyEnvironment, ToyAction, ToyObservation, "toy_env", 8, state_cls=ToyState)
plain_app = create_app(ToyEnvironment, ToyAction, ToyObservation, "plain_env", 1, state_cls=ToyState)
broken_app = create_app(broken_factory, ToyAction, ToyObservation, "broken_env", 1, state_cls=ToyState)
