"""Observations as the text that a language model is given."""

import json
from collections.abc import Mapping
from typing import Any

from openenv_core.recording.lines import PICTURE

__all__ = ["observation_text"]

_TOLD_APART = frozenset({"done", "reward", "truncated", "success", "metadata"})


def observation_text(observation: Mapping[str, Any], field: str | None = None) -> str:
    """The text of an observation.

    A field ``text`` that is one, as OpenSpiel's games have; the last message, as TextArena's have; the only text where
    there is just one; otherwise all that is observed, as JSON, without pictures.

    Args:
        field: the field whose text it is, where that is known.
    """
    if field is not None:
        return str(observation.get(field, ""))
    if isinstance(observation.get("text"), str) and observation["text"]:
        return str(observation["text"])
    if isinstance(observation.get("delta"), str) and "messages" in observation:
        return observation["delta"] or _last_message(observation["messages"])
    seen = {name: value for name, value in observation.items() if name not in _TOLD_APART and not _is_picture(value)}
    texts = [value for value in seen.values() if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else json.dumps(seen, ensure_ascii=False)


def _last_message(messages: Any) -> str:
    last = messages[-1] if isinstance(messages, list) and messages else {}
    return str(last.get("content", "")) if isinstance(last, Mapping) else str(last)


def _is_picture(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {PICTURE}
