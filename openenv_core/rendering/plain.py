"""Views as plain values: what a page is sent."""

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from openenv_core.rendering.parts import Cell, Grid, Html, Labelled, Part, Picture
from openenv_core.rendering.questions import Question

__all__ = ["MAX_TEXT", "plain_action", "plain_parts", "plain_questions"]

MAX_TEXT: Final = 100_000
"""Characters of a text that are sent as part of a view; the observation itself has the whole."""


def plain_parts(parts: Iterable[Part], observation: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The parts of a view as JSON values; ``kind`` says which of them it is: grid, text, picture or html.

    Args:
        observation: the one that is shown, where its reader has it: pictures that are a field of it are named by that
            field instead of being sent twice.
    """
    return [_plain(part, observation or {}) for part in parts]


def _plain(part: Part, observation: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part, Grid):
        return {"kind": "grid", "spaced": part.spaced, "rows": [[_cell(cell) for cell in row] for row in part.rows]}
    if isinstance(part, Picture):
        return {
            "kind": "picture",
            "description": part.description,
            "click": None if part.click is None else dict(part.click),
            "size": list(part.image.size),
            "marks": [
                {"label": mark.label, "box": list(mark.box), **plain_action(mark.labelled)} for mark in part.marks
            ],
            **_source(base64.b64encode(part.image.png).decode("ascii"), observation),
        }
    if isinstance(part, Html):
        return {"kind": "html", "html": part.html}
    return {
        "kind": "text",
        "text": part.text[:MAX_TEXT],
        "more": max(0, len(part.text) - MAX_TEXT),
        "tone": part.tone,
        "label": part.label,
    }


def plain_action(labelled: Labelled) -> dict[str, Any]:
    """An action with its name as JSON values."""
    return {"name": labelled.label, "action": labelled.action, "key": labelled.key, "draft": labelled.draft}


def _cell(cell: Cell) -> dict[str, Any]:
    plain = {"text": cell.text, "tone": cell.tone, "mark": cell.mark}
    return plain if cell.choice is None else {**plain, "choice": cell.choice}


def _source(png: str, observation: Mapping[str, Any]) -> dict[str, str]:
    field = next((name for name, value in observation.items() if value == png), None)
    return {"png": png} if field is None else {"field": field}


def plain_questions(questions: Iterable[Question]) -> list[dict[str, Any]]:
    """Questions as JSON values; a bound that is none is ``None``."""
    return [
        {
            "field": question.field,
            "kind": question.kind,
            "choices": [{"value": choice.value, "name": choice.name} for choice in question.choices],
            "low": question.low if math.isfinite(question.low) else None,
            "high": question.high if math.isfinite(question.high) else None,
            "meaning": question.meaning,
            "hint": question.hint,
            "template": question.template,
        }
        for question in questions
    ]
