"""What a page is sent beside an observation: how it looks, what can be done next, and what is asked for that."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from pydantic_core import from_json, to_json

from openenv_core.rendering import (
    Labelled,
    Part,
    Showing,
    Text,
    labelled_choices,
    plain_action,
    plain_parts,
    plain_questions,
    questions_of,
    view_of,
)
from openenv_core.sessions.session import Session
from openenv_core.wire.values import model_json

__all__ = ["Views"]

_log = logging.getLogger(__name__)

_REMEMBERED: Final = 500
"""So many observations of an episode are kept in short, for views that show how it went."""

_SHORT: Final = 200
"""A text of at most so many characters belongs to the short form."""


_UNSEEN: Final = Text("This cannot be drawn; the server's log tells why. The JSON has it all.", "notice")


@dataclass
class _Play:
    """One session's episode, as far as its view needs it."""

    now: dict[str, Any] = field(default_factory=dict)
    before: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    parts: list[Part] | None = None
    labelled: list[Labelled] | None = None


class Views:
    """The views of all sessions that pages have.

    Args:
        showing: how observations are shown.
        action_schema: JSON schema of the actions.
    """

    def __init__(self, showing: Showing, action_schema: Mapping[str, Any]) -> None:
        self._showing = showing
        self._schema = action_schema
        self._plays: WeakKeyDictionary[Session, _Play] = WeakKeyDictionary()

    def observed(self, session: Session, observation: Any) -> bytes:
        """The view of what a reset or a step led to, as JSON."""
        play = self._plays.setdefault(session, _Play())
        if session.episode.step_count == 0:
            play.before = []
        elif play.now:
            play.before = [*play.before[-_REMEMBERED:], _short(play.now)]
        now = from_json(model_json(observation))
        play.now = now if isinstance(now, dict) else {"observation": now}
        play.parts = self._showing.own_parts(play.now, observation)
        play.labelled = self._showing.labelled(play.now, observation)
        return self._view(play, play.now)

    def told(self, session: Session, state: Any) -> bytes | None:
        """The view of the last observation again, now that the state is known; ``None`` before the first reset.

        Whoever comes back to a session gets pictures with it.
        """
        play = self._plays.get(session)
        if play is None or not play.now:
            return None
        play.facts = from_json(model_json(state))
        return self._view(play, {})

    def _view(self, play: _Play, sent: Mapping[str, Any]) -> bytes:
        try:
            return to_json(self._values(play, sent), inf_nan_mode="strings")
        except Exception:  # noqa: BLE001 - what cannot be drawn was done all the same, and its client must hear of it
            _log.exception("an observation could not be drawn")
            return to_json({"parts": plain_parts([_UNSEEN]), "actions": [], "questions": []})

    def _values(self, play: _Play, sent: Mapping[str, Any]) -> dict[str, Any]:
        questions = questions_of(self._schema, play.now, play.facts)
        parts = play.parts if play.parts is not None else view_of([*play.before, play.now], play.facts)
        labelled = play.labelled if play.labelled is not None else labelled_choices(questions)
        return {
            "parts": plain_parts(parts, sent),
            "actions": [plain_action(one) for one in labelled],
            "questions": plain_questions(questions),
        }


def _short(observation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in observation.items()
        if value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _SHORT)
    }
