"""What a recorder is handed: notes of calls, made where the calls are answered, written down elsewhere."""

import itertools
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic_core import to_json

from openenv_core.recording.lines import EndLine, EpisodeLine

__all__ = ["Note", "Tape", "file_name"]

_SHOWN_OF_A_NAME = 40
_serial = itertools.count(1)


class Note(NamedTuple):
    """One answered call.

    Attributes:
        kind: ``reset``, ``step``, ``state`` or ``error``.
        at: Unix time of the answer, in seconds.
        seconds: how long the call took.
        call: ``reset``, ``step`` or ``state``; the same as ``kind`` unless that is ``error``.
        data: the action or the options as JSON; empty for a state.
        answer: the observation or the state as JSON; of an error its message as a JSON text.
        reward, done, truncated, success: of the observation.
        code: of the error.
        pictures: the observation's PNG files by name.
    """

    kind: str
    at: float
    seconds: float
    call: str
    data: bytes
    answer: bytes
    reward: Any = None
    done: bool = False
    truncated: bool = False
    success: bool | None = None
    code: str = ""
    pictures: "dict[str, bytes] | None" = None

    def line(self, started: float) -> bytes:
        """The line of the file, of an episode that started at that Unix time."""
        kind, at, seconds = self.kind, max(0.0, self.at - started), self.seconds
        if kind == "step":
            head = b'{"type":"step","at":%.6f,"seconds":%.6f,"action":%b' % (at, seconds, self.data)
        else:
            head = b'{"type":"%b","at":%.6f,"seconds":%.6f' % (kind.encode(), at, seconds)
            if kind == "state":
                return b'%b,"state":%b}\n' % (head, self.answer)
            if kind == "error":
                told = self.call.encode(), self.data or b"null", to_json(self.code), self.answer
                return head + b',"call":"%b","data":%b,"code":%b,"message":%b}\n' % told
        reward, success = self.reward, self.success
        return b'%b,"reward":%b,"done":%b,"truncated":%b,"success":%b,"observation":%b}\n' % (
            head,
            b"null" if reward is None else to_json(reward),
            b"true" if self.done else b"false",
            b"true" if self.truncated else b"false",
            b"null" if success is None else b"true" if success else b"false",
            self.answer,
        )


class Tape:
    """The recording of one episode while it runs. Only who hands over notes touches it, but for ``writing``.

    Args:
        facts: the first line; its ``session`` and ``started`` name the file.
        started: the moment, as Unix time.

    Attributes:
        name: the file's name without its ending.
        steps, reward, success: of the episode so far.
        lost: lines that were not taken since the last that was.
        writing: the writer's own affair.
    """

    __slots__ = ("facts", "lost", "name", "reward", "started", "steps", "success", "writing")

    def __init__(self, facts: EpisodeLine, started: float) -> None:
        self.facts = facts
        self.started = started
        self.name = file_name(facts, started)
        self.steps = 0
        self.reward = 0.0
        self.success: bool | None = None
        self.lost = 0
        self.writing: Any = None

    def count(self, note: Note) -> None:
        """Take in a note, whether it is written down or not."""
        if note.kind == "step":
            self.steps += 1
        if note.kind in ("step", "reset"):
            if note.reward is not None:
                self.reward += note.reward
            self.success = note.success

    def end(self, reason: str, now: float) -> EndLine:
        """The last line."""
        seconds = round(max(0.0, now - self.started), 6)
        return EndLine(reason=reason, steps=self.steps, reward=self.reward, success=self.success, seconds=seconds)


def file_name(facts: EpisodeLine, started: float) -> str:
    """A name that sorts by time, and that no other episode has."""
    moment = datetime.fromtimestamp(started, UTC).strftime("%Y%m%dT%H%M%S%f")
    environment = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in facts.environment)
    return f"{moment}-{environment[:_SHOWN_OF_A_NAME]}-{facts.session}-{next(_serial)}"
