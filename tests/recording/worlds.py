"""Small environments whose episodes are recorded and watched."""

import struct
import zlib
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from openenv_core.environment import Environment
from openenv_core.types import Action, Image, Observation, State

__all__ = ["SECRET", "Move", "Painter", "Seen", "png", "serve_options"]

SECRET = "the answer is 4711"


def png(shade: int, *, side: int = 8) -> bytes:
    """A grey square as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([shade]) * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Move(Action):
    """Say how light the next picture is."""

    shade: int = Field(ge=0, le=255)
    do: Literal["paint", "fail", "finish", "waste", "leak"] = "paint"


class Seen(Observation):
    """A picture, and what goes with it."""

    caption: str
    frame: Image | None = None
    hidden: str = Field(default=SECRET, exclude=True)
    _answer: str = PrivateAttr(default=SECRET)


class Painter(Environment[Move, Seen, State]):
    """Paints squares; the episode ends with the move ``finish``."""

    concurrency_safe = True
    execution = "inline"
    leaked = ""

    def reset(self, *, seed: int | None = None, episode_id: str | None = None, title: str = "") -> Seen:
        """A first picture."""
        self._count = 0
        return Seen(caption=title or "begin", frame=Image(png((seed or 0) % 256)))

    def step(self, action: Move) -> Seen:
        """Do what the move says."""
        self._count += 1
        if action.do == "fail":
            raise RuntimeError(f"it went wrong {self.leaked}".strip())
        if action.do == "waste":
            return Seen(caption="x" * 2000, reward=0.0)
        done = action.do == "finish"
        caption = self.leaked if action.do == "leak" else f"square {self._count}"
        return Seen(
            caption=caption,
            frame=Image(png(action.shade)),
            reward=1.0 if done else 0.25,
            done=done,
            success=True if done else None,
        )

    @property
    def state(self) -> State:
        """How many pictures there were."""
        return State.model_validate({"step_count": self._count, "title": "squares"})


def serve_options(folder: Any, **more: Any) -> dict[str, Any]:
    """Limits of a server that records into a folder."""
    return {"record": str(folder), **more}
