"""A session manager over a real backend, and somebody who holds its sessions."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from typing import Any

from openenv_core.errors import LossReason
from openenv_core.sessions.manager import SessionManager
from openenv_core.sessions.session import Outcome, Session
from openenv_core.settings import ServerSettings
from tests.support.journal import Act, Journal, Seen
from tests.support.places import Place

__all__ = ["Holder", "managing", "play"]


class Holder:
    """Keeps what it is told of ended sessions."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, str]] = []

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """Note the end."""
        self.ends.append((session.id, str(reason)))

    @property
    def reasons(self) -> list[str]:
        """Why sessions ended."""
        return [reason for _, reason in self.ends]


class Managed(SessionManager):
    """A manager whose sessions are opened with one word."""

    async def one(self, holder: Holder | None = None, **arguments: Any) -> Session:
        """Open a session."""
        given = {"caller": "somebody", "door": "test", "holder": holder or Holder(), **arguments}
        return await self.open(**given)


@contextlib.asynccontextmanager
async def managing(
    place: Place,
    journal: Journal,
    *,
    clock: Callable[[], float] | None = None,
    factory: dict[str, Any] | None = None,
    **limits: Any,
) -> AsyncIterator[Managed]:
    """A manager with room for 4 sessions, drained at the end.

    Args:
        clock: in place of the real one.
        factory: arguments of the factory.
        **limits: fields of ``ServerSettings``.
    """
    settings = dataclasses.replace(ServerSettings(max_sessions=4), **limits)
    given = {} if clock is None else {"clock": clock}
    manager = Managed(place.factory(journal, **(factory or {})), place.make(), settings, **given)
    try:
        yield manager
    finally:
        journal.open_all()
        await manager.drain(5.0)


async def play(session: Session, action: Act | None = None, **arguments: Any) -> Seen:
    """One step; its observation."""
    outcome = session.step(action or Act(), _outcome, **arguments)
    seen: Seen = (outcome if isinstance(outcome, Outcome) else await outcome).observation
    return seen


def _outcome(outcome: Outcome) -> Outcome:
    return outcome
