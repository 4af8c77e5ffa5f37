"""Who looks at which session: recordings, people who follow one, people who look at the list of all."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from pydantic_core import from_json

from openenv_core import __version__
from openenv_core.errors import CapacityReachedError, LossReason
from openenv_core.recording import EpisodeLine, Note, Recorder, Tape
from openenv_core.server.watch.followers import Follower, Seen
from openenv_core.server.watch.notes import follow
from openenv_core.server.watch.totals import INTERVAL_S, Totals
from openenv_core.sessions.manager import SessionManager
from openenv_core.sessions.session import Session

__all__ = ["KEEPS_REPLIES", "Attention", "Hub"]

KEEPS_REPLIES: Final = frozenset({"ws.v2", "page"})
"""Doors whose sessions remember their last reply anyway: to look at it nobody has to be attached to them."""

_LOOKED_AT_S: Final = 30.0
"""So long after the last look at the list or the totals nobody is there any more."""

_MAX_FOLLOWERS: Final = 64
_SESSION_SHOWN: Final = 12

ReplyT = TypeVar("ReplyT")


class Attention:
    """What is kept of one session that somebody looks at. It is attached to it as its observer.

    Attributes:
        recorded: its episodes are written down.
        followers: who follows it.
        last: its last observation, where somebody may want to see it.
    """

    __slots__ = ("_episodes", "_frames", "_hub", "_is_frame", "_session", "_tape", "followers", "last", "recorded")

    def __init__(self, hub: "Hub", session: Session) -> None:
        self._hub = hub
        self._session = session
        self._tape: Tape | None = None
        self._episodes = 0
        self._frames = 0
        self._is_frame = session.door == "ws.v2"
        self.recorded = False
        self.followers: list[Follower] = []
        self.last: Note | None = None

    def follow(
        self,
        session: Session,
        verb: str,
        data: Any,
        reply: Callable[[Any], ReplyT],
        run: Callable[[Callable[[Any], ReplyT]], ReplyT | Awaitable[ReplyT]],
    ) -> ReplyT | Awaitable[ReplyT]:
        """Run a call, and hand a note of it to whoever is there."""
        self._frames += 1
        return follow(verb, data, reply, run, self._take, self._frames, is_frame=self._is_frame)

    def closed(self, session: Session, reason: LossReason) -> None:
        """The session has ended."""
        self._end_tape(reason)
        for follower in self.followers:
            follower.end(reason)
        self._hub.forget(session)

    def _take(self, note: Note) -> None:
        if self.recorded:
            self._record(note)
        for follower in self.followers:
            follower.put(self.seen(note))
        if note.kind == "step" or note.kind == "reset":
            self.last = note
            if not self.recorded and not self.followers:
                self._session.observer = None  # it was but a glance

    def seen(self, note: Note) -> Seen:
        """A note with where the episode stands now."""
        return Seen(note, self._session.episode.step_count, self._session.episode.total_reward)

    def _record(self, note: Note) -> None:
        recorder = self._hub.recorder
        if recorder is None:
            return
        if note.kind == "reset":
            self._end_tape("reset")
        if self._tape is None and note.kind in ("reset", "step"):
            self._tape = recorder.begin(self._facts(note), note.at - note.seconds)
        if self._tape is None:
            return
        recorder.write(self._tape, note)
        if note.done:
            self._end_tape("truncated" if note.truncated else "terminated")

    def _facts(self, note: Note) -> EpisodeLine:
        self._episodes += 1
        options = from_json(note.data) if note.kind == "reset" and note.data else {}
        seed = options.get("seed")
        return EpisodeLine(
            environment=self._hub.environment,
            version=self._hub.version,
            server=f"openenv-core/{__version__}",
            session=self._session.id[:_SESSION_SHOWN],
            number=self._episodes,
            episode_id=self._session.episode.episode_id,
            door=self._session.door,
            started=datetime.fromtimestamp(note.at - note.seconds, UTC).isoformat(),
            seed=seed if type(seed) is int else None,
            options=options,
            tools=self._hub.tools,
        )

    def _end_tape(self, reason: str) -> None:
        tape, self._tape = self._tape, None
        if tape is not None and self._hub.recorder is not None:
            self._hub.recorder.end(tape, reason)


class Hub:
    """Attaches to sessions what looks at them, and takes it off again.

    Args:
        environment, version: of what is served.
        manager: the sessions.
        recorder: where episodes go; ``None`` where none are recorded.
        tools: what an agent can do, for the recordings.
        record_all: all sessions are recorded, and not just those whose client asks.
        clock: monotonic seconds.

    Attributes:
        looking: somebody looks at the list or at the totals.
        totals: the server's figures over time, which are taken while somebody looks.
    """

    def __init__(
        self,
        environment: str,
        version: str | None,
        manager: SessionManager,
        recorder: Recorder | None = None,
        *,
        record_all: bool = True,
        tools: Sequence[dict[str, Any]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.environment = environment
        self.version = version
        self.recorder = recorder
        self.tools = list(tools)
        self.looking = False
        self.totals = Totals(manager, clock)
        self._manager = manager
        self._record_all = record_all
        self._clock = clock
        self._attended: dict[str, Attention] = {}
        self._followers = 0
        self._looked_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def opened(self, session: Session, record: bool) -> None:
        """A session has opened; ``record``: its client asks for a recording."""
        if self.recorder is not None and (record or self._record_all):
            self._attend(session).recorded = True

    def attention(self, session_id: str) -> Attention | None:
        """What is kept of a session that somebody looks at."""
        return self._attended.get(session_id)

    def look(self) -> None:
        """Somebody looks at the list or the totals, and probably goes on doing so."""
        self._looked_at = self._clock()
        if self.looking:
            return
        self.looking = True
        self.totals.begin()
        self._tick_later()

    def glance(self, session: Session) -> None:
        """Somebody wants to see what the client of a session sees next. One frame is seen, and then nobody is there."""
        if session.door not in KEEPS_REPLIES:
            self._attend(session)

    def join(self, session: Session) -> Follower:
        """Somebody begins to follow a session.

        Raises:
            CapacityReachedError: so many do already.
        """
        if self._followers >= _MAX_FOLLOWERS:
            raise CapacityReachedError(f"{_MAX_FOLLOWERS} watchers follow sessions of this server already")
        self._followers += 1
        follower = Follower()
        self._attend(session).followers.append(follower)
        return follower

    def leave(self, session: Session, follower: Follower) -> None:
        """Somebody goes."""
        self._followers -= 1
        attention = self._attended.get(session.id)
        if attention is not None:
            attention.followers.remove(follower)
            self._let_go(session, attention)

    def forget(self, session: Session) -> None:
        """A session is over."""
        self._attended.pop(session.id, None)
        session.observer = None

    async def close(self) -> None:
        """The server ends: write what is left to be written."""
        if self._timer is not None:
            self._timer.cancel()
        if self.recorder is not None:
            await asyncio.to_thread(self.recorder.close, _CLOSE_S)

    def _attend(self, session: Session) -> Attention:
        attention = self._attended.get(session.id)
        if attention is None:
            attention = self._attended[session.id] = Attention(self, session)
        session.observer = attention
        return attention

    def _let_go(self, session: Session, attention: Attention) -> None:
        if not attention.recorded and not attention.followers:
            self.forget(session)

    def _tick_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._tick)

    def _tick(self) -> None:
        still_there = self._clock() - self._looked_at < _LOOKED_AT_S
        for session_id, attention in list(self._attended.items()):
            session = self._manager.sessions.get(session_id)
            if session is None:
                del self._attended[session_id]  # it ended after a glance, when nobody was attached
            elif not still_there:
                self._let_go(session, attention)
        if still_there:
            self.totals.sample()
            self._tick_later()
        else:
            self.looking = False
            self._timer = None


_CLOSE_S: Final = 5.0
