"""A server in a thread of this process, and Gymnasium environments made by hand to be hosted by one."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy
import uvicorn
from gymnasium import spaces

from openenv_core.environment import EnvironmentSpec
from openenv_core.server import create_app_from_spec

__all__ = ["PictureWorld", "RichWorld", "serving"]

_LIMIT_S = 20.0


@contextlib.contextmanager
def serving(spec: EnvironmentSpec) -> Iterator[str]:
    """The base URL of a server of this environment, for the length of a ``with`` block."""
    config = uvicorn.Config(create_app_from_spec(spec), host="127.0.0.1", port=0, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + _LIMIT_S
    while not server.started:
        assert thread.is_alive(), "the server ended"
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_LIMIT_S)
        assert not thread.is_alive(), "the server did not end"


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
