"""The format of a recorded episode: a file of JSON lines, and its pictures as PNG files in a folder of the same name.

    20261130T153512123456-echo_env-1a2b3c4d5e6f-1.jsonl
    20261130T153512123456-echo_env-1a2b3c4d5e6f-1/000003-0.png

The first line is an ``episode``; then come ``reset``, ``step``, ``state`` and ``error`` in the order in which the
client was answered, ``lost`` where something could not be written, and an ``end`` unless the server was killed. In an
observation ``{"$picture": NAME}`` stands for a picture. A reader ignores fields that it does not know.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

__all__ = [
    "FORMAT",
    "LINES",
    "PICTURE",
    "EndLine",
    "EpisodeLine",
    "ErrorLine",
    "Line",
    "LostLine",
    "ResetLine",
    "StateLine",
    "StepLine",
]

FORMAT = 1
"""Version of the format; a file of a later one may hold what this reader does not see."""

PICTURE = "$picture"
"""The one key of the object that stands for a picture."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", ser_json_inf_nan="strings")


class EpisodeLine(_Line):
    """What was played.

    Attributes:
        format: see :data:`FORMAT`.
        environment, version: the environment's name, and its distribution's version where it has one.
        server: name and version of the server.
        session: the first 12 characters of the session's id: enough to find it in a log, too few to speak for it.
        number: the session's episodes are counted from 1.
        episode_id: the episode's name; ``None`` where it began without a reset.
        door: the way by which the session was opened.
        started: UTC, ISO 8601.
        seed, options: what the client gave to ``reset``; the seed is in ``options``, too.
        tools: what an agent can do, in the form in which chat models are told of tools: the environment's own tools, or
            one tool ``step`` that takes an action.
    """

    type: Literal["episode"] = "episode"
    format: int = FORMAT
    environment: str
    version: str | None = None
    server: str = ""
    session: str
    number: int = 1
    episode_id: str | None = None
    door: str = ""
    started: str
    seed: int | None = None
    options: dict[str, Any] = {}
    tools: list[dict[str, Any]] = []


class _Answer(_Line):
    """``at``: seconds since the episode's start. ``seconds``: how long the call took."""

    at: float
    seconds: float


class _Observed(_Answer):
    """What the client was sent; ``reward``, ``done``, ``truncated`` and ``success`` once more, for quick reading."""

    observation: Any
    reward: bool | int | float | None = None
    done: bool = False
    truncated: bool = False
    success: bool | None = None


class ResetLine(_Observed):
    """The answer to ``reset``."""

    type: Literal["reset"] = "reset"


class StepLine(_Observed):
    """An action and the answer to it."""

    type: Literal["step"] = "step"
    action: Any


class StateLine(_Answer):
    """The state, which the client asked for."""

    type: Literal["state"] = "state"
    state: Any


class ErrorLine(_Answer):
    """A call that the client was told an error for: its code and message. ``data``: the action or the options."""

    type: Literal["error"] = "error"
    call: str
    data: Any = None
    code: str
    message: str


class LostLine(_Line):
    """So many lines are missing here: the disk was too slow, full, or not writable."""

    type: Literal["lost"] = "lost"
    lines: int


class EndLine(_Line):
    """The end of the recording.

    Attributes:
        reason: ``terminated`` by the task, ``truncated`` by a limit, left by a ``reset``, ``cut`` because its file has
            the largest size that one may have, or the word with which the session ended.
        steps, reward, success: of the episode.
        seconds: since its start.
    """

    type: Literal["end"] = "end"
    reason: str
    steps: int
    reward: float
    success: bool | None = None
    seconds: float


Line = EpisodeLine | ResetLine | StepLine | StateLine | ErrorLine | LostLine | EndLine

LINES: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])
"""Reads one line."""
