"""One session: the only code that calls an environment."""

import asyncio
import contextlib
import functools
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from openenv_core.backends.base import EnvironmentCrashedError, EnvironmentHandle
from openenv_core.errors import EnvironmentFailedError, LossReason, OpenEnvError, ProtocolError, SessionLostError
from openenv_core.sessions.admission import Ticket
from openenv_core.sessions.episode import Episode, Phase
from openenv_core.sessions.lease import Lease, LeaseState
from openenv_core.sessions.measures import Measures
from openenv_core.sessions.replies import ReplyMemory
from openenv_core.settings import ServerSettings
from openenv_core.types import State

__all__ = ["Holder", "Observer", "Outcome", "Session", "explain_loss"]

ReplyT = TypeVar("ReplyT")

_log = logging.getLogger(__name__)

_EXPLANATIONS = {
    LossReason.DISCONNECTED: "the connection that carried the session is gone",
    LossReason.IDLE_TIMEOUT: "nobody used the session for longer than the server's idle timeout",
    LossReason.GRACE_EXPIRED: "the client did not come back within the server's grace time",
    LossReason.SERVER_RESTARTED: "the server does not know the session; it may have been restarted",
    LossReason.ENV_CRASHED: "the environment crashed",
    LossReason.STEP_DEADLINE: "a call ran past its deadline",
    LossReason.CLOSED: "the session has been closed",
    LossReason.SHUTDOWN: "the server is shutting down",
}


def explain_loss(reason: str, more: str = "") -> SessionLostError:
    """The error that tells a client why its session is gone and what to do."""
    why = _EXPLANATIONS[LossReason(reason)] if reason in set(LossReason) else f"the session ended ({reason})"
    return SessionLostError(f"{why}{f': {more}' if more else ''}; call reset to start a new one", reason=reason)


@functools.lru_cache(maxsize=256)
def _tell_that_seeds_are_lost(name: str) -> None:
    """Once for each class: it is the class that has to change, and a trainer resets a thousand times."""
    _log.warning(
        "%s.reset takes no seed, and a client gave one: it determines nothing. Name seed in the signature of reset, "
        "and make the generator from it",
        name,
    )


class Outcome(NamedTuple):
    """What a reset or a step led to. ``truncated``: a limit outside the task cut the episode."""

    observation: Any
    truncated: bool


class Holder(Protocol):
    """What carries a session: a connection, or a table of HTTP sessions."""

    def session_closed(self, session: "Session", reason: LossReason) -> None:
        """The session has ended without its client asking for it."""


class Observer(Protocol):
    """Who looks at a session: a recorder, people who watch. A call and its answer stay what they are."""

    def follow(
        self,
        session: "Session",
        verb: str,
        data: Any,
        reply: Callable[[Any], ReplyT],
        run: Callable[[Callable[[Any], ReplyT]], ReplyT | Awaitable[ReplyT]],
    ) -> ReplyT | Awaitable[ReplyT]:
        """Run a call of the session, and see what it leads to.

        Args:
            verb: ``reset``, ``step`` or ``state``.
            data: the action of a step; the options of a reset.
            reply: turns the result into what the client is sent.
            run: does the call, with a function in the place of ``reply``.
        """

    def closed(self, session: "Session", reason: LossReason) -> None:
        """The session has ended."""


class Session:
    """A client's hold on one environment object.

    Calls run one at a time, in the order in which they come. Each takes a function that turns its result into a reply;
    that runs before the next call starts, so an environment may reuse what it returned.

    Args:
        handle: the environment, where it lives.
        ticket: the slot that it holds.
        lease: how long it is kept.
        door: the way by which it was opened: ``ws.v1``, ``ws.v2``, ``http``, …; for listings.
        on_lost: told when the session cannot go on; closes it.
        measures: where steps and episodes are counted.

    Attributes:
        id: its name; 128 random bits, since plain HTTP has no other proof.
        token: the secret that resumes it; 192 random bits.
        holder: who carries it; ``None`` while its client is away.
        credential: what its caller proved itself with.
        calls: the calls under way, by request id; for a client that comes back and asks again.
        replies: what a request that is sent again is answered with.
        episode: where its episode stands.
        observer: who looks on; ``None``, which costs nothing, for nobody. The gateway asks.
        opened_at: the moment on the clock.
        steps_in_all: steps of all its episodes.
    """

    # A server holds thousands: without a dict each, a session is half as large.
    __slots__ = (
        "__weakref__",
        "_clock",
        "_measures",
        "_on_lost",
        "_running",
        "_settings",
        "_step_at_once",
        "_tells_timeout",
        "_timings",
        "_turn",
        "_waiting",
        "calls",
        "credential",
        "door",
        "episode",
        "handle",
        "holder",
        "id",
        "lease",
        "observer",
        "opened_at",
        "replies",
        "steps_in_all",
        "ticket",
        "token",
    )

    def __init__(
        self,
        handle: EnvironmentHandle,
        ticket: Ticket,
        lease: Lease,
        *,
        settings: ServerSettings,
        door: str,
        on_lost: Callable[["Session", LossReason], object],
        clock: Callable[[], float] = time.monotonic,
        measures: Measures | None = None,
    ) -> None:
        traits = handle.traits
        self.id = secrets.token_hex(16)
        self.token = secrets.token_urlsafe(24)
        self.handle = handle
        self.ticket = ticket
        self.lease = lease
        self.door = door
        self.observer: Observer | None = None
        self.holder: Holder | None = None
        self.credential: str | None = None
        self.calls: dict[int, asyncio.Task[bytes]] = {}
        self.replies: ReplyMemory[bytes] = ReplyMemory()
        self.episode = Episode(max_steps=traits.max_steps, auto_start=traits.auto_start, lenient=traits.lenient)
        self.opened_at = clock()
        self.steps_in_all = 0
        self._settings = settings
        self._on_lost = on_lost
        self._clock = clock
        self._measures = measures or Measures()
        self._timings = self._measures.steps
        self._turn = asyncio.Lock()
        self._running: asyncio.Task[Any] | None = None
        self._waiting = 0
        self._step_at_once = handle.immediate(traits.step)
        self._tells_timeout = traits.step_takes_timeout
        handle.when_crashed(self._crashed)

    def step(
        self, action: Any, reply: Callable[[Outcome], ReplyT], timeout_s: float | None = None
    ) -> ReplyT | Awaitable[ReplyT]:
        """Do one action. Returns the reply if the environment answers at once, otherwise something to await.

        Args:
            timeout_s: the caller's limit; the smallest of it, the class's and the server's counts.

        Raises:
            EpisodeNotStartedError, EpisodeOverError: nothing ran.
            EnvironmentFailedError, InvalidObservationError, InvalidRewardError: the environment is at fault.
            SessionLostError: the session is gone, maybe through this very call.
        """
        step_at_once = self._step_at_once
        # Not the lock: it is free for a moment before the next in line takes it, and nobody may overtake.
        if step_at_once is None or self._waiting or self.calls or (timeout_s is not None and self._tells_timeout):
            return self._in_turn(self._step_later(action, reply, timeout_s))
        if self.lease.reason is not None:
            self._check_alive()
        self.episode.check_step()
        clock = self._clock
        started = clock()
        self.lease.touch(started)
        try:
            observation = step_at_once(action)
        except (Exception, SystemExit) as error:  # an environment cannot end the server
            raise self._failure(error) from error
        self._timings.add(clock() - started)
        self.steps_in_all += 1
        return reply(Outcome(observation, self.episode.stepped(observation)))

    async def _step_later(self, action: Any, reply: Callable[[Outcome], ReplyT], timeout_s: float | None) -> ReplyT:
        self.episode.check_step()
        traits = self.handle.traits
        extra = {"timeout_s": timeout_s} if self._tells_timeout and timeout_s is not None else {}
        started = self._clock()
        observation = await self._run(traits.step, action, timeout_s=timeout_s, arguments=extra)
        self._timings.add(self._clock() - started)
        self.steps_in_all += 1
        return reply(Outcome(observation, self.episode.stepped(observation)))

    async def reset(
        self, options: Mapping[str, Any], reply: Callable[[Outcome], ReplyT], timeout_s: float | None = None
    ) -> ReplyT:
        """Start an episode. Raises as :meth:`step` does, and ``ValidationFailedError`` for a bad option."""
        return await self._in_turn(self._reset_later(options, reply, timeout_s))

    async def _reset_later(
        self, options: Mapping[str, Any], reply: Callable[[Outcome], ReplyT], timeout_s: float | None
    ) -> ReplyT:
        traits = self.handle.traits
        arguments = traits.reset_options.check(options)
        if options.get("seed") is not None and not traits.lenient and not traits.reset_options.takes_seed:
            _tell_that_seeds_are_lost(traits.name)
        episode_id = options.get("episode_id") or uuid4().hex
        if traits.passes_episode_id:
            arguments["episode_id"] = episode_id
        self._measures.leave(self.episode)
        self.episode.phase = Phase.NEEDS_RESET  # a reset that fails leaves no episode to go on with
        observation = await self._run(traits.reset, timeout_s=timeout_s, arguments=arguments)
        return reply(Outcome(observation, self.episode.started(episode_id, observation)))

    async def state(self, reply: Callable[[Any], ReplyT], timeout_s: float | None = None) -> ReplyT:
        """Read the state, where the environment lives. Raises as :meth:`step` does."""
        return await self._in_turn(self._state_later(reply, timeout_s))

    async def _state_later(self, reply: Callable[[Any], ReplyT], timeout_s: float | None) -> ReplyT:
        if self.handle.traits.has_state:
            return reply(await self._run("state", timeout_s=timeout_s))
        return reply(State(episode_id=self.episode.episode_id, step_count=self.episode.step_count))

    async def call(self, method: str, *arguments: Any, timeout_s: float | None = None) -> Any:
        """Run another method of the environment, in turn. Raises as :meth:`step` does."""
        return await self._in_turn(self._run(method, *arguments, timeout_s=timeout_s))

    async def finish(self, limit_s: float) -> None:
        """Let the running call end, then close the environment; give up on it after ``limit_s`` seconds."""
        try:
            async with asyncio.timeout(limit_s):
                async with self._turn:
                    await self.handle.close()
        except TimeoutError:
            self.handle.abandon()
        finally:
            self._measures.leave(self.episode)
            if self.observer is not None:
                self.observer.closed(self, self.lease.reason or LossReason.CLOSED)

    def cancel(self, call: "asyncio.Task[bytes]") -> None:
        """Give up a call that still waits for its turn; one that runs is left alone."""
        # A task that was made a moment ago has not begun: cancelled now, it would end without a word.
        asyncio.get_running_loop().call_soon(self._cancel_waiting, call)

    def _cancel_waiting(self, call: "asyncio.Task[bytes]") -> None:
        if call is not self._running:
            call.cancel()

    def told(self) -> dict[str, str | None]:
        """What a line of the log says of this session beside its text."""
        return {"session": self.id, "episode": self.episode.episode_id}

    def _crashed(self, error: EnvironmentCrashedError) -> None:
        _log.warning("session %s: %s", self.id, error, extra=self.told())
        self._on_lost(self, LossReason.ENV_CRASHED)

    @property
    def alive(self) -> bool:
        """Whether calls are still taken."""
        return self.lease.state is not LeaseState.CLOSED

    async def _in_turn(self, work: Coroutine[Any, Any, ReplyT]) -> ReplyT:
        # However it ends, and be it before the work began: a coroutine that is never run must be closed.
        with contextlib.closing(work):
            self._check_alive()
            if self._waiting >= self._settings.max_pipelined:
                raise ProtocolError(
                    f"{self._waiting} calls of this session wait already; read replies before sending more",
                    limit=self._settings.max_pipelined,
                )
            self._waiting += 1
            self.lease.begin(self._clock())
            try:
                async with self._turn:
                    self._check_alive()
                    self._running = asyncio.current_task()
                    return await work
            finally:
                self._waiting -= 1
                self.lease.end(self._clock())

    async def _run(
        self, verb: str, *positional: Any, timeout_s: float | None, arguments: Mapping[str, Any] | None = None
    ) -> Any:
        limits = (timeout_s, self.handle.traits.step_deadline_s, self._settings.step_deadline_s)
        limit_s = min(limit for limit in limits if limit is not None)
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                return await self.handle.call(verb, *positional, **(arguments or {}))
        except EnvironmentCrashedError as error:
            raise self._lose(LossReason.ENV_CRASHED, str(error)) from error
        except Exception as error:
            if not deadline.expired():
                raise self._failure(error) from error
        self.handle.abandon()
        raise self._lose(LossReason.STEP_DEADLINE, f"{verb} took longer than {limit_s:g} s")

    def _lose(self, reason: LossReason, more: str) -> SessionLostError:
        """The session cannot go on; whatever ended it first stays the reason."""
        self._on_lost(self, reason)
        return explain_loss(self.lease.reason or reason, more)

    def _failure(self, error: BaseException) -> OpenEnvError:
        if isinstance(error, OpenEnvError):
            return error
        error_id = secrets.token_hex(4)
        _log.error(
            "session %s: the environment raised (error %s)",
            *(self.id, error_id),
            exc_info=error,
            extra={**self.told(), "error_id": error_id},
        )
        told = f"SystemExit: {error}" if isinstance(error, SystemExit) else str(error) or type(error).__name__
        return EnvironmentFailedError(told, error_id=error_id)

    def _check_alive(self) -> None:
        if not self.alive:
            raise explain_loss(self.lease.reason or LossReason.CLOSED)
