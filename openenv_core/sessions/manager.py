"""All sessions of a server: open, resume, reap, drain."""

import asyncio
import hmac
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from openenv_core.backends.base import Backend, EnvironmentHandle
from openenv_core.errors import (
    CapacityReachedError,
    EnvironmentFactoryError,
    LossReason,
    UnauthorizedError,
)
from openenv_core.sessions.admission import Admission, Decision, Ticket
from openenv_core.sessions.building import Builder, Catalog
from openenv_core.sessions.lease import Lease
from openenv_core.sessions.measures import Measures
from openenv_core.sessions.pace import Pace
from openenv_core.sessions.session import Holder, Session, explain_loss
from openenv_core.settings import ServerSettings

__all__ = ["SessionManager"]

_log = logging.getLogger(__name__)

_REMEMBERED_ENDS = 4096
"""So many ended sessions keep their reason, for a client that comes back and asks."""

_CLOSE_LIMIT_S = 30.0
"""A running call, and the environment's own close, may take so long when a session ends; then it is let go of."""

_LET_GO_S = 1.0
"""So long a shutdown waits for what it has given up on to notice."""

WorkT = TypeVar("WorkT")


class SessionManager:
    """Opens sessions within the capacity, ends them, and keeps count.

    Every way out of a session gives its slot back, after its environment is closed.

    Args:
        factory: makes one environment object.
        backend: where the objects run.
        settings: the limits.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        backend: Backend,
        settings: ServerSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend = backend
        self._settings = settings
        self.clock = clock
        self.admission = Admission(
            settings.max_sessions,
            max_queue=settings.max_queue,
            max_per_caller=settings.max_sessions_per_caller or None,
        )
        self._pace = Pace(settings.max_opens_per_second)
        self.sessions: dict[str, Session] = {}
        self.measures = Measures()
        self.ended: Counter[str] = Counter()
        self.opened = 0
        self.draining = False
        self._reasons: OrderedDict[str, LossReason] = OrderedDict()
        self._waiting: dict[Ticket, tuple[asyncio.Future[None], Callable[[int], None] | None]] = {}
        self.builder = Builder(factory, backend, settings)
        self._catalog = Catalog(self.builder, limit_s=settings.step_deadline_s)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ending: dict[asyncio.Task[None], Session] = {}
        self._reaper: asyncio.Task[None] | None = None

    @property
    def factory_name(self) -> str:
        """What to call the factory in a message."""
        return self.builder.factory_name

    async def start(self) -> None:
        """Start the backend and the reaper. Opening a session does it where nobody else did."""
        if self._reaper is None:
            self._reaper = asyncio.create_task(self._reap())
            self.builder.start()

    async def open(
        self,
        *,
        caller: str,
        door: str,
        holder: Holder,
        credential: str | None = None,
        wait_s: float = 0.0,
        resumable: bool = False,
        idle_timeout_s: float | None = None,
        on_queued: Callable[[int], None] | None = None,
    ) -> Session:
        """Open a session.

        Args:
            caller: whose session it is.
            door: the way in; for listings.
            holder: who is told when the session ends by itself.
            credential: what the caller proved itself with; a session is resumed with the same only.
            wait_s: seconds to wait in the queue of a full server.
            resumable: the session outlives its connection for the grace time.
            idle_timeout_s: another idle time than the server's.
            on_queued: told the place in the queue, whenever it has changed.

        Raises:
            CapacityReachedError: no slot was free, within ``wait_s``.
            EnvironmentFactoryError: the environment could not be built; the cause is in the log.
        """
        await self.start()
        ticket = Ticket(caller=caller)
        wait_s -= await self._keep_pace(caller, wait_s)
        await self._admit(ticket, wait_s, on_queued)
        handle = await self._build_in(ticket)
        lease = Lease(
            self.clock(),
            idle_timeout_s=idle_timeout_s or self._settings.idle_timeout_s,
            resume_grace_s=self._settings.resume_grace_s if resumable else 0.0,
        )
        session = Session(
            *(handle, ticket, lease),
            settings=self._settings,
            door=door,
            on_lost=self.close_soon,
            clock=self.clock,
            measures=self.measures,
        )
        session.holder = holder
        session.credential = credential
        self.sessions[session.id] = session
        self.opened += 1
        self.measures.opened[door] += 1
        _log.debug("session %s of %s opens by %s", session.id, caller, door, extra={**session.told(), "caller": caller})
        return session

    async def _keep_pace(self, caller: str, wait_s: float) -> float:
        """Wait until the caller may open one more session; returns the seconds that this took.

        Raises:
            CapacityReachedError: that would take longer than it is willing to wait.
        """
        now = self.clock()
        due_in_s = self._pace.wait_s(caller, now)
        if due_in_s > wait_s:
            raise self._pace.refusal(due_in_s)
        self._pace.take(caller, now)
        if due_in_s:
            await asyncio.sleep(due_in_s)
        return due_in_s

    async def _admit(self, ticket: Ticket, wait_s: float, on_queued: Callable[[int], None] | None) -> None:
        decision = self.admission.request(ticket, self.clock(), wait_s=wait_s)
        if decision is Decision.ADMITTED:
            return
        if decision is Decision.REFUSED:
            raise self._full(ticket.caller)
        since, admitted = self.clock(), asyncio.get_running_loop().create_future()
        self._waiting[ticket] = admitted, on_queued
        if on_queued is not None:
            on_queued(self.admission.position(ticket) or 1)
        try:
            async with asyncio.timeout(wait_s):
                await admitted
            self.measures.waits.add(self.clock() - since)
        except BaseException as error:
            self._grant(self.admission.withdraw(ticket))
            if isinstance(error, TimeoutError):
                raise self._full(ticket.caller, waited_s=wait_s) from None
            raise
        finally:
            self._waiting.pop(ticket, None)

    def _full(self, caller: str, **details: Any) -> CapacityReachedError:
        if self.draining:
            return CapacityReachedError("The server is shutting down and takes no new sessions.", draining=True)
        active, limit = self.admission.active, self.admission.max_sessions
        if self.admission.caller_is_full(caller):
            own_limit = self._settings.max_sessions_per_caller
            return CapacityReachedError(
                f"This caller has all the {own_limit} sessions that one caller may have at a time.",
                active_sessions=active,
                max_sessions=limit,
                max_sessions_per_caller=own_limit,
                **details,
            )
        return CapacityReachedError(
            f"Server at capacity: {active}/{limit} sessions active. Cannot accept new connections.",
            active_sessions=active,
            max_sessions=limit,
            **details,
        )

    async def _build_in(self, ticket: Ticket) -> EnvironmentHandle:
        """An environment for the slot of this ticket, which is given back where there is none in the end."""
        try:
            building = await self.builder.begin(self.spawn)
        except BaseException:
            self._release(ticket)
            raise
        try:
            handle = await asyncio.shield(building)
        except asyncio.CancelledError:
            self.spawn(self._discard(building, ticket))
            raise
        except Exception:
            self._release(ticket)
            if self.draining:
                raise self._full(ticket.caller) from None
            raise
        if self.draining:
            await self._discard(building, ticket)
            raise self._full(ticket.caller)
        return handle

    async def _discard(self, building: "asyncio.Task[EnvironmentHandle]", ticket: Ticket) -> None:
        """Nobody wants the environment any more: its slot is taken until it is built, or given up, and closed."""
        try:
            handle = await building
            try:
                await asyncio.wait_for(handle.close(), _CLOSE_LIMIT_S)
            except TimeoutError:
                handle.abandon()
        except EnvironmentFactoryError:
            pass  # there is nothing to close
        finally:
            self._release(ticket)

    def find(self, session_id: str) -> Session:
        """The session of that id.

        Raises:
            SessionLostError: it is gone; the reason is the one with which it ended, as long as that is remembered.
        """
        session = self.sessions.get(session_id)
        if session is None:
            raise explain_loss(self._reasons.get(session_id, LossReason.SERVER_RESTARTED))
        return session

    def resume(self, session_id: str, token: str, *, credential: str | None, holder: Holder) -> Session:
        """Attach a session to another holder; the one before is told nothing and holds it no more.

        Raises:
            SessionLostError: as :meth:`find`.
            UnauthorizedError: the token is wrong, or the session was opened with other credentials.
        """
        session = self.find(session_id)
        same_token = hmac.compare_digest(session.token.encode(), token.encode())
        if not same_token or session.credential != credential:
            raise UnauthorizedError("the token does not open this session")
        session.holder = holder
        session.lease.attach(self.clock())
        return session

    def detach(self, session: Session, holder: Holder, *, for_good: bool = False) -> None:
        """The holder is gone: the session waits for its client, or ends at once where nobody can come back for it."""
        if session.holder is not holder:
            return
        session.holder = None
        now = self.clock()
        session.lease.detach(now)
        reason = LossReason.DISCONNECTED if for_good else session.lease.due(now)
        if reason is not None:
            self.close_soon(session, reason)

    async def close(self, session: Session, reason: LossReason) -> None:
        """End a session: mark it, let its call finish, close the environment, tell the holder, free the slot.

        Only the first call for a session does anything. It is carried through even if its caller is cancelled.
        """
        ending = self.close_soon(session, reason)
        if ending is not None:
            await asyncio.shield(ending)

    def close_soon(self, session: Session, reason: LossReason) -> "asyncio.Task[None] | None":
        """:meth:`close`, without waiting for it: the session takes no more calls from this moment on.

        Returns the task that ends it; ``None`` where it is ending already.
        """
        if not session.lease.close(reason):
            return None
        level = logging.DEBUG if reason in (LossReason.CLOSED, LossReason.DISCONNECTED) else logging.INFO
        _log.log(level, "session %s ends: %s", session.id, reason, extra=session.told())
        self.sessions.pop(session.id, None)
        self._reasons[session.id] = reason
        if len(self._reasons) > _REMEMBERED_ENDS:
            self._reasons.popitem(last=False)
        self.ended[reason] += 1
        ending = self.spawn(self._end(session, reason))
        self._ending[ending] = session
        ending.add_done_callback(self._ending.pop)
        return ending

    async def _end(self, session: Session, reason: LossReason) -> None:
        try:
            await session.finish(_CLOSE_LIMIT_S)
            await asyncio.sleep(0)  # the answer of the call that was running goes out before the news of the end
        finally:
            holder, session.holder = session.holder, None
            try:
                if holder is not None:
                    holder.session_closed(session, reason)
            finally:
                self._release(session.ticket)

    async def catalog(self, method: str, *arguments: Any) -> Any:
        """Run a method that belongs to no session (metadata, tasks) on one environment kept for that.

        It is built at the first call, in the same place as any other, and is the only one outside the capacity.

        Raises:
            EnvironmentFactoryError: it could not be built.
            UnsupportedOperationError: the class has no such method.
            EnvironmentFailedError: the method took too long, or took its process down; the next call has a new object.
            Exception: whatever the method raised.
        """
        await self.start()
        return await self._catalog.ask(method, arguments)

    async def drain(self, grace_s: float) -> None:
        """Shut down: admit nobody, let running calls finish within ``grace_s``, end every session, stop the backend.

        Only the first call does anything.
        """
        if self.draining:
            return
        self.draining = True
        for ticket in self.admission.close():
            admitted, _ = self._waiting[ticket]
            if not admitted.done():
                admitted.set_exception(self._full(ticket.caller))
        for session in list(self.sessions.values()):
            self.close_soon(session, LossReason.SHUTDOWN)
        await self._end_by(grace_s)
        await self._end_by(_LET_GO_S)  # what the ends have led to: the last words to clients
        await self._catalog.close()
        if self._reaper is not None:
            self._reaper.cancel()
            await asyncio.gather(self._reaper, return_exceptions=True)
            await self.builder.stop()

    async def _end_by(self, grace_s: float) -> None:
        """Wait for all that is ending, or is still being built, and give up on what takes longer."""
        waited_for = set(self._tasks)
        if not waited_for:
            return
        _, late = await asyncio.wait(waited_for, timeout=grace_s)
        for task in late & set(self._ending):
            self._ending[task].handle.abandon()
        if late:
            _, late = await asyncio.wait(late, timeout=_LET_GO_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _release(self, ticket: Ticket) -> None:
        self._grant(self.admission.release(ticket))

    def _grant(self, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            admitted, _ = self._waiting[ticket]
            if not admitted.done():
                admitted.set_result(None)

    def spawn(self, work: Coroutine[Any, Any, WorkT]) -> "asyncio.Task[WorkT]":
        """Run something to its end in the background."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _reap(self) -> None:
        limits = (self._settings.idle_timeout_s, self._settings.http_idle_timeout_s, self._settings.resume_grace_s)
        pause_s = min(1.0, max(0.02, min(limits) / 4))
        while True:
            await asyncio.sleep(pause_s)
            now = self.clock()
            for session in list(self.sessions.values()):
                if (reason := session.lease.due(now)) is not None:
                    self.close_soon(session, reason)
            self._tell_positions()

    def _tell_positions(self) -> None:
        for place, ticket in enumerate(list(self._waiting), start=1):
            _, on_queued = self._waiting[ticket]
            if on_queued is not None:
                on_queued(place)
