# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped,misc,no-any-return"
"""The toy environment in the public package's terms. ``toy_ours`` is its twin: change both together.

A word chooses what a step does, so that one environment shows every kind of reply.
"""

import math
from typing import Any

import numpy
from openenv.core.env_server import Environment, create_app
from toy_peer_client import ToyAction, ToyObservation, ToyState


class ToyEnvironment(Environment):
    """Says back what it is told."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = ToyState(episode_id="unnamed")

    def reset(self, seed: int | None = None, episode_id: str | None = None, difficulty: str = "easy") -> ToyObservation:
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

    def close(self) -> None:
        pass


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

    _tasks = [{"id": "a"}, {"id": "b"}, {"id": "c"}]

    def list_splits(self) -> list[Any]:
        return ["train", {"name": "held", "type": "validation"}, "x"]

    def list_tasks(self, split: str) -> list[Any]:
        return self._tasks

    def num_tasks(self, split: str) -> int:
        return len(self._tasks)

    def get_task(self, split: str, index: int) -> Any:
        return self._tasks[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        return self._tasks[start:stop]


def broken_factory() -> ToyEnvironment:
    """Never makes an environment."""
    raise RuntimeError("no world today")


app = create_app(TaskToyEnvironment, ToyAction, ToyObservation, "toy_env", 8, state_cls=ToyState)
plain_app = create_app(ToyEnvironment, ToyAction, ToyObservation, "plain_env", 1, state_cls=ToyState)
broken_app = create_app(broken_factory, ToyAction, ToyObservation, "broken_env", 1, state_cls=ToyState)
