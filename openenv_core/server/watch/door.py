"""``/web/api/sessions`` and ``/web/api/totals``: the sessions of a server while they are played, for its operator."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import from_json, to_json

from openenv_core.errors import ProtocolError
from openenv_core.rendering import Showing
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.gateway import Gateway
from openenv_core.server.sessions_http import listed, operator_only
from openenv_core.server.watch.followers import Follower
from openenv_core.server.watch.frames import History, frame_json, glance, with_pictures
from openenv_core.server.watch.hub import Hub
from openenv_core.server.watch.totals import INTERVAL_S
from openenv_core.sessions.session import Session, explain_loss

__all__ = ["NotHereError", "WatchDoor"]

_KEEPALIVE_S: Final = 15.0
"""Proxies give up on a stream that is silent for long."""

_PAUSE_S: Final = 0.05
"""Between two bursts of frames: nobody sees more than that, and the server has other things to do."""

_LARGEST_GLANCE: Final = 2**20
"""A larger observation is not looked into for a list."""


class NotHereError(ProtocolError):
    """What a route names is not there."""

    http_status = 404


class _Last(NamedTuple):
    """An observation as JSON, or a whole reply in which there may be one."""

    text: bytes | None
    is_reply: bool

    def observation(self) -> Any:
        """The observation as plain values; ``None`` where there is none."""
        value = None if self.text is None else from_json(self.text)
        if not self.is_reply or value is None:
            return value
        return value["data"] if value.get("type") == "observation" else None


class WatchDoor:
    """The routes of those who watch."""

    def __init__(self, gateway: Gateway, doorkeeper: Doorkeeper, hub: Hub) -> None:
        self._gateway = gateway
        self._hub = hub
        self.router = APIRouter(
            prefix="/web/api",
            tags=["Watch"],
            include_in_schema=False,
            dependencies=[Depends(operator_only(doorkeeper))],
        )
        add = self.router.add_api_route
        add("/sessions", self.list_sessions, methods=["GET"])
        add("/sessions/{session_id}/picture", self.picture, methods=["GET"])
        add("/sessions/{session_id}/events", self.events, methods=["GET"])
        add("/totals", self.totals, methods=["GET"])

    async def list_sessions(self, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
        """The sessions, those used last first, each with its last observation in a few lines."""
        self._hub.look()
        manager = self._gateway.manager
        now = manager.clock()
        chosen = sorted(manager.sessions.values(), key=lambda session: session.lease.idle_s(now))[:limit]
        rows = [(self._facts(session), self._last(session)) for session in chosen]
        for session in chosen:
            self._hub.glance(session)
        admission = manager.admission
        body = {
            "environment": self._gateway.env_name,
            "active": admission.active,
            "max": admission.max_sessions,
            "queued": admission.queued,
            "draining": manager.draining,
            "total": len(manager.sessions),
            # Elsewhere: there may be a thousand observations to look into.
            "sessions": await asyncio.to_thread(lambda: [_with_glance(*row, self._gateway.showing) for row in rows]),
        }
        return Response(to_json(body), media_type="application/json")

    async def picture(self, session_id: str, request: Request) -> Response:
        """The first picture of a session's last observation."""
        last = self._last(self._gateway.manager.find(session_id))
        _, png = await asyncio.to_thread(_glance, last, self._gateway.showing)
        if png is None:
            raise NotHereError("the last observation of this session has no picture")
        tag = f'"{_digest(png)}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        return Response(png, media_type="image/png", headers={"ETag": tag, "Cache-Control": "private, no-cache"})

    async def totals(self, since: float = 0.0) -> Response:
        """The server's figures: now, since it started, and in the last ten minutes as far as somebody looked."""
        self._hub.look()
        totals, recorder = self._hub.totals, self._hub.recorder
        recording = None
        if recorder is not None:
            dropped, errors = sum(recorder.dropped.values()), sum(recorder.errors.values())
            recording = {"frames": recorder.written, "dropped": dropped, "errors": errors, "bytes": recorder.size}
        body = {
            "interval_s": INTERVAL_S,
            "started": totals.started,
            "now": totals.now().model_dump(),
            "samples": [sample.model_dump() for sample in totals.samples if sample.at > since],
            "recording": recording,
            **totals.so_far(),
        }
        return Response(to_json(body), media_type="application/json")

    async def events(self, session_id: str, view: bool = False) -> StreamingResponse:
        """One session, frame by frame, as server-sent events."""
        session = self._gateway.manager.find(session_id)
        follower = self._hub.join(session)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            self._stream(session, follower, History(self._gateway.showing) if view else None),
            media_type="text/event-stream",
            headers=headers,
        )

    async def _stream(self, session: Session, follower: Follower, history: History | None) -> AsyncIterator[bytes]:
        try:
            yield _event("snapshot", self._snapshot(session, history))
            index = 0
            while True:
                missed, frames = await follower.next(_KEEPALIVE_S)
                for seen in frames:
                    index += 1
                    yield _event("frame", frame_json(seen, index, missed, history, self._gateway.redact))
                    missed = 0
                if follower.ended is not None:
                    told = {"reason": follower.ended, "message": explain_loss(follower.ended).message}
                    yield _event("ended", to_json(told))
                    return
                if not frames:
                    yield b": still here\n\n"
                await asyncio.sleep(_PAUSE_S)
        finally:
            self._hub.leave(session, follower)

    def _snapshot(self, session: Session, history: History | None) -> bytes:
        last = self._last(session)
        frame = self._last_frame(session, last, history)
        return b'{"session":%b,"frame":%b}' % (
            to_json(_with_glance(self._facts(session), last, self._gateway.showing)),
            frame,
        )

    def _last_frame(self, session: Session, last: _Last, history: History | None) -> bytes:
        attention = self._hub.attention(session.id)
        if attention is not None and attention.last is not None:
            return frame_json(attention.seen(attention.last), 0, 0, history, self._gateway.redact)
        observation = last.observation()
        if observation is None:
            return b"null"
        values = observation if isinstance(observation, dict) else {}
        episode = session.episode
        frame: dict[str, Any] = {
            "kind": "step" if episode.step_count else "reset",
            "index": 0,
            "dropped": 0,
            "steps": episode.step_count,
            "total_reward": episode.total_reward,
            **{name: values.get(name) for name in ("reward", "done", "truncated", "success")},
            "observation": observation,
        }
        if history is not None:
            frame["view"] = history.view(frame["kind"], None, observation)
        return to_json(frame, inf_nan_mode="strings")

    def _facts(self, session: Session) -> dict[str, Any]:
        attention = self._hub.attention(session.id)
        row = listed(session, self._gateway.manager).model_dump()
        recorded = attention is not None and attention.recorded
        return {**row, "reward": session.episode.total_reward, "recorded": recorded}

    def _last(self, session: Session) -> _Last:
        """What a client saw last: as somebody attached noted it, or as the session remembers it."""
        attention = self._hub.attention(session.id)
        if attention is not None and attention.last is not None:
            note = attention.last
            return _Last(with_pictures(note.answer, note.pictures), False)
        return _Last(session.replies.last_reply, True)


def _with_glance(row: dict[str, Any], last: _Last, showing: Showing | None) -> dict[str, Any]:
    text, png = _glance(last, showing) if len(last.text or b"") <= _LARGEST_GLANCE else (None, None)
    picture = None if png is None else f"sessions/{row['id']}/picture?v={_digest(png)}"
    return {**row, "text": text, "picture": picture}


def _glance(last: _Last, showing: Showing | None) -> tuple[str | None, bytes | None]:
    observation = last.observation()
    return (None, None) if observation is None else glance(observation, showing)


def _digest(png: bytes) -> str:
    return hashlib.sha256(png).hexdigest()[:16]


def _event(name: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)
