"""Models with a bit of everything, and strategies that fill them."""

import datetime
import json
import string
from typing import Any, Literal

from hypothesis import strategies as st
from pydantic import field_validator

from openenv_core.types import Action, Observation, State, WireModel

__all__ = [
    "ACTIONS",
    "JSON_VALUES",
    "OBSERVATIONS",
    "STATES",
    "WORDS",
    "Guess",
    "Look",
    "Move",
    "Play",
    "Seen",
    "Story",
    "surprises",
]


class Point(WireModel):
    x: float = 0.0
    label: str | None = None
    blob: bytes = b""


class Guess(Action):
    """An action whose validators can go wrong in every way."""

    word: str
    times: int = 1
    at: Point | None = None
    tags: list[str] = []
    blob: bytes = b""
    when: datetime.datetime | None = None

    @field_validator("word")
    @classmethod
    def _check(cls, word: str) -> str:
        if word == "refuse":
            raise ValueError("this word is refused")
        if word == "crash":
            raise KeyError("this word breaks the check")
        return word


class Look(Action):
    kind: Literal["look"] = "look"
    where: str = ""


class Move(Action):
    kind: Literal["move"] = "move"
    where: str = ""


Play = Look | Move


class Seen(Observation):
    """An observation with a bit of everything."""

    text: str = ""
    count: int | None = None
    score: float = 0.0
    scores: list[float] = []
    at: Point = Point()
    by_name: dict[str, Point] = {}
    blob: bytes = b""
    when: datetime.datetime | None = None
    day: datetime.date | None = None
    took: datetime.timedelta | None = None
    anything: Any = None


class Story(State):
    """A state with more than its class says."""

    chapters: list[str] = []


TEXT = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
METADATA = st.dictionaries(TEXT, JSON_VALUES, max_size=3)
POINTS = st.builds(Point, x=NUMBERS, label=st.none() | TEXT, blob=st.binary(max_size=6))
WORDS = TEXT.filter(lambda word: word not in {"refuse", "crash"})
MOMENTS = st.none() | st.datetimes(timezones=st.none() | st.just(datetime.UTC))

ACTIONS = st.builds(
    Guess,
    metadata=METADATA,
    word=WORDS,
    times=st.integers(-(2**63), 2**63 - 1),
    at=st.none() | POINTS,
    tags=st.lists(TEXT, max_size=3),
    blob=st.binary(max_size=6),
    when=MOMENTS,
)
OBSERVATIONS = st.builds(
    Seen,
    done=st.booleans(),
    truncated=st.booleans(),
    reward=st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False),
    success=st.none() | st.booleans(),
    metadata=METADATA,
    text=TEXT,
    count=st.none() | st.integers(),
    score=NUMBERS,
    scores=st.lists(NUMBERS, max_size=3),
    at=POINTS,
    by_name=st.dictionaries(TEXT, POINTS, max_size=2),
    blob=st.binary(max_size=6),
    when=MOMENTS,
    day=st.none() | st.dates(),
    took=st.none() | st.timedeltas(),
    anything=JSON_VALUES,
)
STATES = st.builds(
    Story,
    episode_id=st.none() | TEXT,
    step_count=st.integers(0, 2**53),
    chapters=st.lists(TEXT, max_size=3),
)


def surprises() -> st.SearchStrategy[str]:
    """Messages that nobody should send: text, odd JSON, frames with something wrong in them."""
    keys = st.sampled_from(["id", "type", "session", "data", "timeout_s", "extra"])
    requests = ["open", "reset", "step", "state", "close", "cancel", "mcp"]
    replies = ["hello", "opened", "resumed", "queued", "observation", "closed", "error"]
    kinds = st.sampled_from([*requests, *replies, "", "nothing"])
    fields = {
        "id": st.integers(-2, 2**54) | JSON_VALUES,
        "type": kinds | JSON_VALUES,
        "session": TEXT | JSON_VALUES,
        "data": st.dictionaries(TEXT | st.sampled_from(["word", "reason", "code", "message"]), JSON_VALUES)
        | JSON_VALUES,
        "timeout_s": st.floats() | JSON_VALUES,
        "extra": JSON_VALUES,
    }
    frame = st.lists(keys, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({key: fields[key] for key in chosen})
    )
    broken = st.text(string.printable, max_size=30) | st.text(st.characters(), max_size=10)
    return (
        broken
        | JSON_VALUES.map(_dump)
        | frame.map(_dump)
        | st.lists(frame | JSON_VALUES, max_size=3).map(_dump)
        | st.integers(100, 100_000).map(lambda depth: "[" * depth)
        | st.integers(100, 3_000).map(lambda depth: '{"type":"step","data":' + "[" * depth + "]" * depth + "}")
    )


def _dump(value: Any) -> str:
    return json.dumps(value)
