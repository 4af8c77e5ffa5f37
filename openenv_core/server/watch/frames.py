"""What a watcher is sent of a frame, and what a list shows of an observation."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json

from openenv_core.rendering import Grid, Html, Part, Picture, Showing, plain_parts
from openenv_core.server.watch.followers import Seen

__all__ = ["History", "frame_json", "glance", "with_pictures"]

_SHOWN_CHARACTERS: Final = 400
_KEPT_FOR_VIEW: Final = 200
"""A view may need the episode so far: as many observations of it are kept."""


def with_pictures(answer: bytes, pictures: Mapping[str, bytes] | None) -> bytes:
    """An observation as its client got it: pictures as base64 in their places."""
    for name, png in (pictures or {}).items():
        answer = answer.replace(b'{"$picture":"%b"}' % name.encode(), b'"%b"' % base64.b64encode(png))
    return answer


class History:
    """What a view of an episode needs: its observations, and what is known of it.

    Args:
        showing: how observations are shown; default: as the framework does.
    """

    def __init__(self, showing: Showing | None = None) -> None:
        self._showing = showing or Showing()
        self._observations: list[Mapping[str, Any]] = []
        self._facts: dict[str, Any] = {}

    def view(self, kind: str, asked: Any, answer: Any) -> list[dict[str, Any]] | None:
        """Take in a frame; returns the parts that show it, as JSON values, where it has an observation."""
        if kind == "state" and isinstance(answer, Mapping):
            self._facts |= answer
        if kind not in ("reset", "step"):
            return None
        if kind == "reset":
            self._observations.clear()
            self._facts = dict(asked or {})
        observation = answer if isinstance(answer, Mapping) else {"observation": answer}
        self._observations.append(observation)
        del self._observations[1:-_KEPT_FOR_VIEW]
        return plain_parts(self._showing.parts(self._observations, self._facts), observation)


def frame_json(seen: Seen, index: int, missed: int, history: History | None, redact: Any) -> bytes:
    """A frame for a watcher.

    Args:
        index: its number.
        missed: frames that were left out before it.
        history: where the parts of a view are wanted; it takes in the frame.
        redact: takes secrets out of the text of an error.
    """
    note = seen.note
    head = {
        "kind": note.kind,
        "index": index,
        "at": note.at,
        "seconds": note.seconds,
        "dropped": missed,
        "steps": seen.steps,
        "total_reward": seen.total_reward,
    }
    parts = [to_json(head)[:-1]]
    answer = with_pictures(note.answer, note.pictures)
    if note.data:
        parts.append(b',"%b":%b' % (b"options" if note.call == "reset" else b"action", note.data))
    if note.kind == "error":
        error = {"code": note.code, "message": redact(from_json(note.answer))}
        parts.append(b',"call":"%b","error":%b' % (note.call.encode(), to_json(error)))
    elif note.kind == "state":
        parts.append(b',"state":%b' % answer)
    else:
        told = {"reward": note.reward, "done": note.done, "truncated": note.truncated, "success": note.success}
        parts.append(b',%b,"observation":%b' % (to_json(told)[1:-1], answer))
    if history is not None and note.kind != "error":
        view = history.view(note.kind, from_json(note.data) if note.data else None, from_json(answer))
        if view is not None:
            parts.append(b',"view":%b' % to_json(view))
    return b"".join(parts) + b"}"


def glance(observation: Any, showing: Showing | None = None) -> tuple[str | None, bytes | None]:
    """A few lines of an observation, and its first picture."""
    shown = observation if isinstance(observation, Mapping) else {"observation": observation}
    parts = (showing or Showing()).parts([shown], {})
    picture = next((part.image.png for part in parts if isinstance(part, Picture)), None)
    return _text_of(parts), picture


def _text_of(parts: Sequence[Part]) -> str | None:
    texts = []
    for part in parts:
        if isinstance(part, Grid):
            texts.append("\n".join(" ".join(cell.text or " " for cell in row) for row in part.rows))
        elif isinstance(part, Html):
            texts.append(part.text)
        elif not isinstance(part, Picture):
            texts.append(f"{part.label}: {part.text}" if part.label else part.text)
    text = "\n".join(texts).strip()
    return text[:_SHOWN_CHARACTERS] or None
