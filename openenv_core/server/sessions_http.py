"""``/sessions``: who holds the slots, for the people who run a server."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from openenv_core.errors import LossReason, UnauthorizedError
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.gateway import Gateway
from openenv_core.server.silence import within
from openenv_core.sessions.manager import SessionManager
from openenv_core.sessions.session import Session

__all__ = ["ListedSession", "SessionList", "SessionsDoor", "listed", "operator_only"]

_CLOSE_WAIT_S = 5.0


class ListedSession(BaseModel):
    """One session, as an operator sees it.

    Attributes:
        id: its name.
        state: ``attached``, or ``detached`` while its client is away.
        door: the way by which it was opened.
        backend: where its environment runs.
        caller: the address of whoever opened it.
        age_s: seconds since it was opened.
        idle_s: seconds since its last request; 0 while one is being worked on.
        episode: ``needs_reset``, ``running`` or ``over``.
        episode_id: the name of the episode.
        steps: steps of this episode.
        steps_in_all: steps of all its episodes.
    """

    id: str
    state: str
    door: str
    backend: str
    caller: str
    age_s: float
    idle_s: float
    episode: str
    episode_id: str | None
    steps: int
    steps_in_all: int


class SessionList(BaseModel):
    """All sessions, the oldest first; ``active`` counts those under construction too."""

    active: int
    max: int
    queued: int
    sessions: list[ListedSession]


class ClosedSession(BaseModel):
    """``closed`` is false where a call still runs, or the environment takes long to close."""

    id: str
    closed: bool


class SessionsDoor:
    """The list of sessions, and the end of one."""

    def __init__(self, gateway: Gateway, doorkeeper: Doorkeeper) -> None:
        self._gateway = gateway
        self.router = APIRouter(tags=["Operation"], dependencies=[Depends(operator_only(doorkeeper))])
        add = self.router.add_api_route
        add("/sessions", self.list_sessions, methods=["GET"], response_model=SessionList)
        add("/sessions/{session_id}", self.close_session, methods=["DELETE"], response_model=ClosedSession)

    async def list_sessions(self) -> SessionList:
        """Every open session."""
        manager = self._gateway.manager
        admission = manager.admission
        rows = [listed(session, manager) for session in manager.sessions.values()]
        return SessionList(active=admission.active, max=admission.max_sessions, queued=admission.queued, sessions=rows)

    async def close_session(self, session_id: str) -> ClosedSession:
        """End a session; its client is told ``closed``. A call that runs may finish."""
        manager = self._gateway.manager
        session = manager.find(session_id)

        async def close() -> bool:
            await manager.close(session, LossReason.CLOSED)
            return True

        return ClosedSession(id=session_id, closed=await within(_CLOSE_WAIT_S, close) or False)


def operator_only(doorkeeper: Doorkeeper) -> Callable[[Request], Awaitable[None]]:
    """A dependency of routes that show callers what others do: it refuses who may not see that."""

    async def check(request: Request) -> None:
        if not doorkeeper.administers(request.scope):
            raise UnauthorizedError(
                "what other callers do is for callers on the server's own machine; set OPENENV_TOKEN there to see it "
                "from elsewhere"
            )

    return check


def listed(session: Session, manager: SessionManager) -> ListedSession:
    """The row of a session."""
    now = manager.clock()
    return ListedSession(
        id=session.id,
        state=session.lease.state.name.lower(),
        door=session.door,
        backend=manager.backend.name,
        caller=session.ticket.caller,
        age_s=round(now - session.opened_at, 3),
        idle_s=round(session.lease.idle_s(now), 3),
        episode=session.episode.phase.name.lower(),
        episode_id=session.episode.episode_id,
        steps=session.episode.step_count,
        steps_in_all=session.steps_in_all,
    )
