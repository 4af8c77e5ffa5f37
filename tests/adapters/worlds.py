"""Worlds for the tests of the bridge to Gymnasium: Gymnasium environments made by hand, and one of ours."""

import random
from typing import Any, Literal

import gymnasium
import numpy
from gymnasium import spaces
from pydantic import BaseModel, Field

from openenv_core.client import EnvClient
from openenv_core.environment import Environment
from openenv_core.types import Action, Observation, State

__all__ = ["Move", "PictureWorld", "RichWorld", "View", "Walk", "WalkEnv", "make", "same"]


def _every_kind() -> spaces.Dict:
    # Made anew each time: spaces hold the generator that they sample from.
    return spaces.Dict(
        {
            "choice": spaces.Discrete(3, start=-1),
            "choices": spaces.MultiDiscrete([2, 5, 3]),
            "table": spaces.MultiDiscrete(numpy.array([[2, 3], [4, 5]])),
            "flags": spaces.MultiBinary((2, 2)),
            "point": spaces.Box(numpy.array([-1.0, 0.0], numpy.float32), numpy.array([1.0, 5.0], numpy.float32)),
            "scalar": spaces.Box(-2.0, 2.0, (), numpy.float64),
            "counts": spaces.Box(0, 200, (2, 3), numpy.uint8),
            "word": spaces.Text(6, charset='abc é"\\'),
            "pair": spaces.Tuple([spaces.Discrete(4), spaces.Dict({"deep": spaces.Box(0.0, 1.0, (1, 2))})]),
        }
    )


class RichWorld(gymnasium.Env[Any, Any]):
    """Every kind of space at once; an observation repeats the action beside a sample that follows the seed."""

    metadata = {"render_modes": []}

    def __init__(self, length: int = 5) -> None:
        self.action_space = _every_kind()
        self._sampled = _every_kind()
        self.observation_space = spaces.Dict({"echo": _every_kind(), "sample": self._sampled})
        self._length = length
        self._count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self._count = int((options or {}).get("count", 0))
        return self.observation_space.sample(), {"count": self._count}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self._count += 1
        info = {"count": self._count, "array": numpy.arange(3), "nested": {"flag": numpy.bool_(True)}}
        observation = {"echo": action, "sample": self._sampled.sample()}
        over = self._count >= self._length
        return observation, float(self.np_random.random()), over, over, info


class PictureWorld(gymnasium.Env[Any, Any]):
    """Pictures as observations, and a picture of another size as what is rendered."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(0, 255, (6, 8, 3), numpy.uint8)
        self.action_space = spaces.Discrete(2)
        self.render_mode = render_mode
        self._buffer = numpy.zeros((6, 8, 3), numpy.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._buffer[:] = self.np_random.integers(0, 256, self._buffer.shape, numpy.uint8)
        return self._buffer, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._buffer[:] = self.np_random.integers(0, 256, self._buffer.shape, numpy.uint8)
        return self._buffer, 0.0, False, False, {}

    def render(self) -> Any:
        return numpy.full((4, 5, 3), self._buffer[0, 0], numpy.uint8)


class Move(Action):
    """Bounded, so that a space can be made of it."""

    direction: Literal["left", "stay", "right"]
    note: str = ""


class Corner(BaseModel):
    """A part of a view."""

    x: int = Field(ge=-2, lt=3)
    bright: bool


class View(Observation):
    """Bounded as well."""

    position: int = Field(ge=0, le=20)
    wind: float = Field(ge=-1, le=1)
    trail: list[float] = Field(min_length=2, max_length=2)
    corner: Corner


class Walk(Environment[Move, View, State]):
    """A walk in the wind, seeded as environments here are: without a seed every episode is another one."""

    concurrency_safe = True

    def __init__(self) -> None:
        self._random = random.Random()
        self._position = 10

    def reset(self, *, seed: int | None = None, calm: bool = False) -> View:
        self._random = random.Random(seed)
        self._position = 10
        return self._view(wind=0.0 if calm else None)

    def step(self, action: Move) -> View:
        self._position += {"left": -1, "stay": 0, "right": 1}[action.direction]
        over = self._position in (0, 20)
        return self._view(reward=None if action.direction == "stay" else 1, done=over, success=over or None)

    def _view(self, wind: float | None = None, **more: Any) -> View:
        wind = self._random.uniform(-1, 1) if wind is None else wind
        corner = Corner(x=self._random.randrange(-2, 3), bright=self._random.random() < 0.5)
        return View(position=self._position, wind=wind, trail=[wind, -wind], corner=corner, **more)


class WalkEnv(EnvClient[Move, View, State]):
    """A walk on a server."""

    action_type, observation_type, state_type = Move, View, State


def make(world: Any) -> gymnasium.Env[Any, Any]:
    """A world by its registered name, or of its class."""
    return gymnasium.make(world, disable_env_checker=True) if isinstance(world, str) else world()


def same(space: spaces.Space[Any], first: Any, second: Any) -> bool:
    """Whether two samples of a space are equal, the types of arrays included."""
    if isinstance(space, spaces.Dict):
        return all(same(part, first[key], second[key]) for key, part in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return all(same(part, *pair) for part, *pair in zip(space.spaces, first, second, strict=True))
    if isinstance(first, numpy.ndarray):
        return first.dtype == second.dtype and numpy.array_equal(first, second)
    return bool(first == second)
