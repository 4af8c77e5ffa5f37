"""Sessions that are opened by a request and not by a connection: used over HTTP, attached to a WebSocket at will."""

from openenv_core.errors import LossReason, SessionLostError
from openenv_core.server.callers import Caller
from openenv_core.server.gateway import Gateway
from openenv_core.sessions.session import Holder, Session

__all__ = ["DOOR", "ToolSessions"]

DOOR = "mcp"


class ToolSessions:
    """The sessions that ``openenv/session/create`` makes.

    Nobody's connection keeps such a session alive. It ends when nobody uses it for the idle time; one that was attached
    to a WebSocket ends the grace time after that has gone, unless it is attached or used again.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._close_when_detached: set[str] = set()

    async def open(self, caller: Caller) -> Session:
        """A new session. Raises as :meth:`~openenv_core.sessions.manager.SessionManager.open`."""
        return await self._gateway.open(
            caller,
            door=DOOR,
            holder=self,
            resumable=True,
            idle_timeout_s=self._gateway.settings.http_idle_timeout_s,
        )

    def find(self, session_id: str, caller: Caller) -> Session | None:
        """The session of that id, where it is one of these and the caller's own; ``None`` otherwise."""
        session = self._gateway.manager.sessions.get(session_id)
        if session is None or session.door != DOOR or session.credential != caller.credential:
            return None
        return session

    def use(self, session: Session) -> None:
        """A request uses the session: the grace time, if it runs, is over."""
        if session.holder is None:
            self._gateway.manager.resume(session.id, session.token, credential=session.credential, holder=self)

    def is_attached(self, session: Session) -> bool:
        """Whether a WebSocket carries the session."""
        return session.holder is not None and session.holder is not self

    def attach(self, session_id: str, caller: Caller, connection: Holder) -> Session:
        """Give a session to a WebSocket.

        Raises:
            SessionLostError: there is none of that id for this caller, or another WebSocket carries it.
        """
        session = self.find(session_id, caller)
        if session is None:
            # To open a new one instead would hand a client another world than the one it asked for.
            raise SessionLostError(f"Unknown session_id: {session_id}", reason=LossReason.SERVER_RESTARTED)
        if self.is_attached(session):
            raise SessionLostError(f"Session {session_id} already has an attached WebSocket", reason=LossReason.CLOSED)
        manager = self._gateway.manager
        manager.resume(session.id, session.token, credential=session.credential, holder=connection)
        # A client on a socket is there, and may be silent for as long as on any other.
        session.lease.allow_idle(self._gateway.settings.idle_timeout_s)
        return session

    def detached(self, session: Session) -> None:
        """The WebSocket of a session is gone; its grace time has begun."""
        session.lease.allow_idle(self._gateway.settings.http_idle_timeout_s)
        if session.id in self._close_when_detached:
            self._close_when_detached.discard(session.id)
            self._gateway.manager.close_soon(session, LossReason.CLOSED)

    async def close(self, session: Session) -> bool:
        """End a session; returns whether that is done: one on a WebSocket ends when that does."""
        if self.is_attached(session):
            self._close_when_detached.add(session.id)
            return False
        await self._gateway.manager.close(session, LossReason.CLOSED)
        return True

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """A session ended by itself; whoever asks for it next is told that it is unknown."""
