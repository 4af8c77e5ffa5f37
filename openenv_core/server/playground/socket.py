"""``/web/ws``: version 2 of the protocol for a page, which is sent a view with each observation and state.

Everything else is as at ``/ws``: a page's session is a session like any other, counted and resumed.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ClassVar, Final

from openenv_core.server.callers import Caller, caller_of
from openenv_core.server.gateway import Gateway
from openenv_core.server.playground.views import Views
from openenv_core.server.ws_v2 import ConnectionV2
from openenv_core.sessions.session import Outcome, Session
from openenv_core.wire.frames import SUBPROTOCOL, OpenFrame

__all__ = ["PageConnection", "PageSocketDoor"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_GOING_AWAY: Final = 1001
"""Close code with which a browser leaves a page (RFC 6455): the tab goes, or it is loaded again."""

_RELOAD_GRACE_S: Final = 5.0
"""A page that is loaded again is back within so many seconds; one that is closed should not keep its slot for long."""

_REFUSED: Final = 1002


class PageConnection(ConnectionV2):
    """One page's socket.

    Args:
        views: makes the views.
        gateway, caller, receive, send: as for any connection.
    """

    door: ClassVar[str] = "page"

    def __init__(self, views: Views, gateway: Gateway, caller: Caller, receive: Receive, send: Send) -> None:
        super().__init__(gateway, caller, receive, send)
        self._views = views

    def _observation(self, request_id: int, session_id: str, outcome: Outcome) -> bytes:
        reply = super()._observation(request_id, session_id, outcome)
        return _with_view(reply, self._views.observed(self._sessions[session_id], outcome.observation))

    def _state(self, request_id: int, session_id: str, state: Any) -> bytes:
        reply = super()._state(request_id, session_id, state)
        return _with_view(reply, self._views.told(self._sessions[session_id], state))

    def _idle_timeout_s(self) -> float:
        # Nobody sits before a page for an hour, and somebody may wait for the slot.
        return self._gateway.settings.http_idle_timeout_s

    def _resume(self, frame: OpenFrame) -> bytes:
        reply = super()._resume(frame)
        session = self._sessions.get(frame.data.session or "")
        if session is not None:
            session.lease.allow_away(self._gateway.settings.resume_grace_s)
        return reply

    def _let_go(self, session: Session) -> None:
        if self._close_code == _GOING_AWAY:
            session.lease.allow_away(min(_RELOAD_GRACE_S, self._gateway.settings.resume_grace_s))
        super()._let_go(session)


class PageSocketDoor:
    """The ASGI application behind ``/web/ws``."""

    def __init__(self, gateway: Gateway, views: Views) -> None:
        self._gateway = gateway
        self._views = views

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it ends."""
        await receive()  # websocket.connect
        if SUBPROTOCOL not in scope.get("subprotocols", ()):
            await send({"type": "websocket.close", "code": _REFUSED, "reason": f"speak {SUBPROTOCOL}"})
            return
        await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
        await PageConnection(self._views, self._gateway, caller_of(scope), receive, send).serve()


def _with_view(reply: bytes, view: bytes | None) -> bytes:
    """The frame with the view in it, before its type: what comes after that stays where readers look for it."""
    return reply if view is None else reply.replace(b',"type":', b',"view":%b,"type":' % view, 1)
