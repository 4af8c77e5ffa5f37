"""All sessions of a server: open, resume, reap, drain."""

import asyncio
import hmac
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from openenv_core.backends.base import Backend, EnvironmentHandle
from openenv_core.errors import (
    CapacityReachedError,
    EnvironmentFactoryError,
    LossReason,
    UnauthorizedError,
    UnsupportedOperationError,
)
from openenv_core.sessions.admission import Admission, Decision, Ticket
from openenv_core.sessions.lease import Lease
from openenv_core.sessions.session import Holder, Session, explain_loss
from openenv_core.settings import ServerSettings

__all__ = ["SessionManager"]

_log = logging.getLogger(__name__)

_REMEMBERED_ENDS = 4096
"""So many ended sessions keep their reason, for a client that comes back and asks."""

_CLOSE_LIMIT_S = 30.0
"""A running call, and the environment's own close, may take so long when a session ends; then it is let go of."""


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
        self._factory = factory
        self._backend = backend
        self._settings = settings
        self._clock = clock
        self.admission = Admission(settings.max_sessions, max_queue=settings.max_queue)
        self.sessions: dict[str, Session] = {}
        self.ended: Counter[str] = Counter()
        self.opened = 0
        self.draining = False
        self._reasons: OrderedDict[str, LossReason] = OrderedDict()
        self._waiting: dict[Ticket, tuple[asyncio.Future[None], Callable[[int], None] | None]] = {}
        self._constructing = asyncio.Semaphore(settings.max_constructing)
        self._catalog: EnvironmentHandle | None = None
        self._catalog_turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reaper: asyncio.Task[None] | None = None

    @property
    def factory_name(self) -> str:
        """What to call the factory in a message."""
        return getattr(self._factory, "__name__", type(self._factory).__name__)

    async def start(self) -> None:
        """Start the backend and the reaper. Opening a session does it where nobody else did."""
        if self._reaper is None:
            self._reaper = asyncio.create_task(self._reap())
            await self._backend.start()

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
        await self._admit(ticket, wait_s, on_queued)
        try:
            handle = await self._build()
        except BaseException:
            self._release(ticket)
            raise
        lease = Lease(
            self._clock(),
            idle_timeout_s=idle_timeout_s or self._settings.idle_timeout_s,
            resume_grace_s=self._settings.resume_grace_s if resumable else 0.0,
        )
        session = Session(
            handle, ticket, lease, settings=self._settings, door=door, on_lost=self._lost, clock=self._clock
        )
        session.holder = holder
        session.credential = credential
        self.sessions[session.id] = session
        self.opened += 1
        return session

    async def _admit(self, ticket: Ticket, wait_s: float, on_queued: Callable[[int], None] | None) -> None:
        decision = self.admission.request(ticket, self._clock(), wait_s=wait_s)
        if decision is Decision.ADMITTED:
            return
        if decision is Decision.REFUSED:
            raise self._full()
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = admitted, on_queued
        if on_queued is not None:
            on_queued(self.admission.position(ticket) or 1)
        try:
            async with asyncio.timeout(wait_s):
                await admitted
        except BaseException as error:
            self._grant(self.admission.withdraw(ticket))
            if isinstance(error, TimeoutError):
                raise self._full(waited_s=wait_s) from None
            raise
        finally:
            self._waiting.pop(ticket, None)

    def _full(self, **details: Any) -> CapacityReachedError:
        if self.draining:
            return CapacityReachedError("The server is shutting down and takes no new sessions.", draining=True)
        active, limit = self.admission.active, self.admission.max_sessions
        return CapacityReachedError(
            f"Server at capacity: {active}/{limit} sessions active. Cannot accept new connections.",
            active_sessions=active,
            max_sessions=limit,
            **details,
        )

    async def _build(self) -> EnvironmentHandle:
        limit_s = self._settings.construct_deadline_s
        deadline = asyncio.timeout(limit_s)
        try:
            async with self._constructing, deadline:
                return await self._backend.open(self._factory)
        except Exception as error:
            if deadline.expired():
                _log.error("%s took longer than %g s to build an environment", self.factory_name, limit_s)
            else:
                _log.exception("%s failed to build an environment", self.factory_name)
            raise EnvironmentFactoryError(
                f"Environment factory '{self.factory_name}' failed to create instance.", factory_name=self.factory_name
            ) from error

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
        session.lease.attach(self._clock())
        return session

    def detach(self, session: Session, holder: Holder) -> None:
        """The holder is gone: the session waits for its client, or ends at once where it cannot be resumed."""
        if session.holder is not holder:
            return
        session.holder = None
        now = self._clock()
        session.lease.detach(now)
        reason = session.lease.due(now)
        if reason is not None:
            self.spawn(self.close(session, reason))

    async def close(self, session: Session, reason: LossReason) -> None:
        """End a session: mark it, let its call finish, close the environment, tell the holder, free the slot.

        Only the first call for a session does anything.
        """
        if not session.lease.close(reason):
            return
        self.sessions.pop(session.id, None)
        self._reasons[session.id] = reason
        if len(self._reasons) > _REMEMBERED_ENDS:
            self._reasons.popitem(last=False)
        self.ended[reason] += 1
        try:
            await session.finish(_CLOSE_LIMIT_S)
            await asyncio.sleep(0)  # the answer of the call that was running goes out before the news of the end
        finally:
            holder, session.holder = session.holder, None
            if holder is not None:
                holder.session_closed(session, reason)
            self._release(session.ticket)

    def close_soon(self, session: Session, reason: LossReason) -> None:
        """:meth:`close`, without waiting for it."""
        self.spawn(self.close(session, reason))

    async def catalog(self, method: str, *arguments: Any) -> Any:
        """Run a method that belongs to no session (metadata, tasks) on one environment kept for that.

        It is built at the first call, in the same place as any other, and is the only one outside the capacity.

        Raises:
            EnvironmentFactoryError: it could not be built.
            UnsupportedOperationError: the class has no such method.
            Exception: whatever the method raised.
        """
        await self.start()
        async with self._catalog_turn:
            if self._catalog is None:
                self._catalog = await self._build()
            if method not in self._catalog.traits.methods:
                raise UnsupportedOperationError(f"{method} is not supported for this environment")
            async with asyncio.timeout(self._settings.step_deadline_s):
                return await self._catalog.call(method, *arguments)

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
                admitted.set_exception(self._full())
        ends = {asyncio.create_task(self.close(s, LossReason.SHUTDOWN)): s for s in list(self.sessions.values())}
        if ends:
            _, late = await asyncio.wait(ends, timeout=grace_s)
            for task in late:
                ends[task].handle.abandon()
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._catalog is not None:
            await self._catalog.close()
        if self._reaper is not None:
            self._reaper.cancel()
            await asyncio.gather(self._reaper, return_exceptions=True)
            await self._backend.stop()

    def _lost(self, session: Session, reason: LossReason) -> None:
        self.spawn(self.close(session, reason))

    def _release(self, ticket: Ticket) -> None:
        self._grant(self.admission.release(ticket))

    def _grant(self, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            admitted, _ = self._waiting[ticket]
            if not admitted.done():
                admitted.set_result(None)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something to its end in the background."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reap(self) -> None:
        limits = (self._settings.idle_timeout_s, self._settings.http_idle_timeout_s, self._settings.resume_grace_s)
        pause_s = min(1.0, max(0.02, min(limits) / 4))
        while True:
            await asyncio.sleep(pause_s)
            now = self._clock()
            for session in list(self.sessions.values()):
                reason = session.lease.due(now)
                if reason is not None:
                    _log.info("session %s ends: %s", session.id, reason)
                    self.spawn(self.close(session, reason))
            self._tell_positions()

    def _tell_positions(self) -> None:
        for place, ticket in enumerate(list(self._waiting), start=1):
            _, on_queued = self._waiting[ticket]
            if on_queued is not None:
                on_queued(place)
