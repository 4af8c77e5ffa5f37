"""Which view an observation gets."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from openenv_core.rendering.boards import coloured_board, game_board
from openenv_core.rendering.parts import Part, Picture, Text
from openenv_core.rendering.text import shortened, visible
from openenv_core.rendering.wordle import is_wordle, wordle_view
from openenv_core.types import Image

__all__ = ["view_of"]

_FRAME: Final = frozenset({"done", "reward", "truncated", "success", "metadata"})
"""Fields of every observation that are told apart from it."""

_LIST: Final = 24
"""So many items of a list are shown."""


def view_of(episode: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> list[Part]:
    """What a person is shown after the last of these observations.

    Args:
        episode: the observations since the reset as plain values, the reset's first; not empty.
        facts: the environment's state as plain values; empty where it is not known.
    """
    now = episode[-1]
    if is_wordle(now):
        return list(wordle_view(episode))
    if "legal_actions" in now and isinstance(now.get("text"), str) and now["text"]:
        return _openspiel(now, facts)
    if "delta" in now and "messages" in now:
        return _textarena(now)
    if "gymnasium_id" in facts and facts.get("render_mode") == "ansi" and isinstance(now.get("text"), str):
        rest = {name: value for name, value in now.items() if name not in ("text", "frame")}
        return [*coloured_board(now["text"]), *_fields(rest)]
    return _fields(now)


def _openspiel(now: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Part]:
    # The legal actions are asked for, with their names, by the question.
    text = "\n".join(line for line in now["text"].split("\n") if not line.startswith("Legal actions: "))
    seat = facts.get("agent_player")
    return list(
        game_board(text, str(facts.get("game_name", "")), now["legal_actions"], seat if isinstance(seat, int) else 0)
    )


def _textarena(now: Mapping[str, Any]) -> list[Part]:
    messages = now["messages"]
    text = now["delta"] or (messages[-1].get("content", "") if messages else "")
    # The library signs every message with who sent it; there is nobody else here than the game and the player.
    parts: list[Part] = [Text(visible(str(text).replace("[GAME] ", "")).strip("\n"))]
    info = now.get("info") or {}
    for name in ("invalid_reason", "reason"):
        told = str(info.get(name) or "")
        if told and told not in str(text):
            parts.append(Text(visible(told), "notice"))
    return parts


def _fields(values: Mapping[str, Any]) -> list[Part]:
    """An observation of which nothing is known: its fields by name, texts as they are."""
    shown = {name: value for name, value in values.items() if name not in _FRAME and value is not None}
    if not shown:
        return [Text("(The observation is empty.)", "empty")]
    if len(shown) == 1 and isinstance(only := next(iter(shown.values())), str) and not _is_picture(only):
        return [Text(visible(only).strip("\n"))]
    return [_field(visible(name), value) for name, value in shown.items()]


def _is_picture(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("iVBORw0KGgo")  # the first bytes of every PNG file, in base64


def _field(name: str, value: Any) -> Part:
    if _is_picture(value):
        try:
            return Picture(Image(base64.b64decode(value, validate=True)), name)
        except ValueError:
            return Text("(a picture that cannot be read)", label=name)
    if isinstance(value, str):
        return Text(visible(value).strip("\n"), label=name)
    return Text(_value(value), label=name)


def _value(value: Any) -> str:
    """A value inside another one, or one that is no text."""
    if isinstance(value, str):
        return "(a picture)" if _is_picture(value) else shortened(visible(value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        more = f", … ({len(value) - _LIST} more)" if len(value) > _LIST else ""
        return f"[{', '.join(map(_value, value[:_LIST]))}{more}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{visible(str(name))}: {_value(item)}' for name, item in value.items())}}}"
    return visible(str(value))
