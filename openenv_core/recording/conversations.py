"""Recorded episodes as conversations in which a model calls tools: what supervised fine-tuning takes.

The form is that of TRL's trainers: ``messages`` and ``tools``, a tool call as
``{"type": "function", "function": {"name", "arguments"}}``, its result as a message of the role ``tool``.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from openenv_core.recording.lines import ErrorLine, ResetLine, StepLine
from openenv_core.recording.reader import Frame, Recording
from openenv_core.recording.texts import observation_text

__all__ = ["STEP", "conversation_of", "write_conversations"]

STEP: Final = "step"
"""The tool that an action is a call of, where the action itself names none."""


def conversation_of(recording: Recording, *, prompt: str = "", text_field: str | None = None) -> dict[str, Any] | None:
    """One episode as a row; ``None`` where it has no step.

    Args:
        prompt: what the first message begins with, before the first observation.
        text_field: the field of observations that is their text; by default
            :func:`~openenv_core.recording.texts.observation_text` finds one.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for frame in recording.frames:
        line = frame.line
        if isinstance(line, ResetLine) and len(messages) == 1:
            parts = (prompt, observation_text(frame.observation or {}, text_field))
            messages[0]["content"] = "\n\n".join(part for part in parts if part)
        elif isinstance(line, StepLine):
            messages += _exchange(line.action, observation_text(frame.observation or {}, text_field))
        elif isinstance(line, ErrorLine) and line.call == "step":
            messages += _exchange(line.data, json.dumps({"error": line.message}, ensure_ascii=False))
    if len(messages) == 1:
        return None
    return {
        "messages": messages,
        "tools": recording.episode.tools or [_guessed(recording.frames)],
        "episode": recording.name,
        "environment": recording.episode.environment,
        "seed": recording.episode.seed,
        "reward": recording.reward,
        "success": recording.success,
    }


def write_conversations(
    recordings: Iterable[Recording], out: Path, *, prompt: str = "", text_field: str | None = None
) -> int:
    """Write rows as JSON lines; returns how many. Arguments are those of :func:`conversation_of`."""
    count = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as file:
        for recording in recordings:
            row = conversation_of(recording, prompt=prompt, text_field=text_field)
            if row is not None:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
    return count


def _exchange(action: Any, answer: str) -> list[dict[str, Any]]:
    name, arguments = _call_of(action)
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": name, "content": answer},
    ]


def _call_of(action: Any) -> tuple[str, dict[str, Any]]:
    """The tool that an action calls, and with what."""
    if not isinstance(action, Mapping):
        return STEP, {"action": action}
    if isinstance(action.get("tool_name"), str) and isinstance(action.get("arguments"), dict):
        return action["tool_name"], action["arguments"]
    return STEP, {name: value for name, value in action.items() if name != "metadata"}


def _guessed(frames: Iterable[Frame]) -> dict[str, Any]:
    """A tool's description by the actions that were done, for a recording that has none."""
    names: dict[str, dict[str, str]] = {}
    for frame in frames:
        if isinstance(frame.line, StepLine):
            for name, value in _call_of(frame.line.action)[1].items():
                names.setdefault(name, {"type": _TYPES.get(type(value), "string")})
    parameters = {"type": "object", "properties": names, "required": list(names)}
    return {"type": "function", "function": {"name": STEP, "description": "Do an action.", "parameters": parameters}}


_TYPES: Final = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
