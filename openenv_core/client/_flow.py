"""What a client does, without doing it: each flow yields what it needs done and is sent what came of it.

One flow, two drivers: :mod:`openenv_core.client.sync` performs the effects blocking, :mod:`openenv_core.client.aio`
awaiting. Everything that is decided (open, resume, repeat, give up, lose) is decided here, once.
"""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openenv_core.client._effects import (
    Connect,
    ConnectionGoneError,
    Drop,
    Flow,
    Receive,
    Release,
    Send,
    Sleep,
    backoff,
    left_with_parent,
)
from openenv_core.errors import (
    CallTimeoutError,
    CapacityReachedError,
    ConnectionFailedError,
    EnvironmentFactoryError,
    LossReason,
    MessageTooLargeError,
    OpenEnvError,
    SessionLostError,
)
from openenv_core.settings import ClientSettings
from openenv_core.wire.calls import Answer, Calls, Event, Greeting, Loss, Opened, Position
from openenv_core.wire.frames import HelloData

__all__ = ["SessionFlow"]

_request_ids = itertools.count(1)

_ACCIDENTS = (None, 1001, 1011, 1014)
"""Ends of a connection that are not about what was asked: no word at all, or going away, a failure at the server (an
unanswered ping, with many), a bad gateway. RFC 6455, section 7.4.1, and the registry that it founds."""

_LAST_WORD_S = 5.0
"""After a connection has been mended, so much time is left at least to hear the answer of the call that was out."""


@dataclass(slots=True)
class _Request:
    """A request that is out: how to send it, and until when to wait."""

    id: int
    message: bytes
    limit_s: float
    setting: str
    deadline: float | None = None


class SessionFlow:
    """One session of one client, over as many connections as it takes.

    Args:
        settings: the limits.
        on_position: told the place in the server's queue.
        clock: monotonic seconds.
        process_id: which process this is; a forked one leaves the session to its parent.

    Attributes:
        hello: what the server said of itself; ``None`` with a server of protocol version 1.
        lost: the error that ``step`` and ``state`` raise until the next ``reset``.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        on_position: Callable[[int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        process_id: Callable[[], int] = os.getpid,
    ) -> None:
        self._settings = settings
        self._process_id = process_id
        self._owner = process_id()
        self._on_position = on_position
        self._clock = clock
        self._calls: Calls | None = None
        self._opened: Opened | None = None
        self._out: int | None = None
        self._lost_unasked = False
        self.hello: HelloData | None = None
        self.lost: SessionLostError | None = None

    @property
    def session_id(self) -> str | None:
        """The server's name for the session, while there is one."""
        return self._opened.session if self._opened is not None else None

    def connect(self) -> Flow:
        """Open the connection and the session, unless they are open; get the session back where it has none."""
        yield from self._settle()
        if self._opened is None:
            yield from self._open()
        elif self._calls is None:
            gone = ConnectionGoneError(reason="it ended with the last call")
            yield from self._resume(gone, self._clock() + self._settings.reconnect_timeout_s)

    def reset(self, options: Mapping[str, Any]) -> Flow:
        """Start an episode, in a new session if the last one is lost."""
        deadline = self._clock() + self._settings.wait_for_capacity_s
        waits = backoff(0.2)
        while True:
            try:
                result = yield from self._reset_once(options)
            except CapacityReachedError:
                # A server of version 2 lets a request wait itself, unless its queue is full; one of version 1 never.
                yield from self._forget()
                if self._clock() >= deadline:
                    raise
                yield Sleep(next(waits))
            else:
                self.lost = None
                return result

    def _reset_once(self, options: Mapping[str, Any]) -> Flow:
        self._lost_unasked = False
        try:
            yield from self.connect()
            return (yield from self._call("reset", options, None))
        except SessionLostError as error:
            if error.reason in (LossReason.ENV_CRASHED, LossReason.STEP_DEADLINE) and not self._lost_unasked:
                raise  # this reset itself brought the session down
        # The session was gone before: nothing of it is wanted, and a new one takes its place.
        if self._is_ordered():
            yield from self._forget()
        yield from self.connect()
        return (yield from self._call("reset", options, None))

    def step(self, action: Any, timeout_s: float | None) -> Flow:
        """Do one action."""
        return self._in_episode("step", action, timeout_s)

    def state(self) -> Flow:
        """Ask for the state."""
        return self._in_episode("state", None, None)

    def _in_episode(self, verb: str, data: Any, timeout_s: float | None) -> Flow:
        yield from self._settle()
        if self.lost is not None:
            raise SessionLostError(self.lost.message, **self.lost.details)
        yield from self.connect()
        return (yield from self._call(verb, data, timeout_s))

    def close(self, *, wait: bool = True) -> Flow:
        """End the session and the connection. Never connects, never fails.

        Args:
            wait: until the server has freed the slot, so that whoever opens the next session can count on it.
        """
        if self._owner != self._process_id():
            yield from self._leave_to_parent()
        opened, calls = self._opened, self._calls
        if opened is not None and self.lost is None:
            self.lost = SessionLostError("the client has been closed; call reset to go on", reason=LossReason.CLOSED)
        if opened is not None and calls is not None:
            request_id = self._next_id()
            try:
                yield Send(calls.close(request_id, opened.session))
                if wait and not calls.ordered:
                    yield from self._await_answer(calls, _Request(request_id, b"", 5.0, ""))
                    yield from self._release()
            except (ConnectionGoneError, TimeoutError, OpenEnvError):
                pass
        yield from self._forget()

    def _release(self) -> Flow:
        self._opened = self._calls = None
        if self.hello is not None:
            yield Release(self.hello)

    def _settle(self) -> Flow:
        """If the last call was abandoned (a cancelled task, an interrupt), its answer must meet no other call."""
        if self._owner != self._process_id():
            yield from self._leave_to_parent()
        request_id, self._out = self._out, None
        if request_id is None or self._calls is None:
            return
        if self._calls.ordered:
            gone = ConnectionGoneError(reason="a call was given up, and its reply could not be told from the next")
            self._lose(gone.loss())
            yield from self._forget()
            return
        cancel = self._calls.cancel(request_id)
        if cancel is not None:
            with contextlib.suppress(ConnectionGoneError):  # the next request finds that out, too, and resumes
                yield Send(cancel)

    def _leave_to_parent(self) -> Flow:
        self._owner = self._process_id()
        if self._opened is not None:
            self._lose(left_with_parent())
        self._out = None
        yield from self._forget()

    @property
    def connected(self) -> bool:
        """Whether a connection is held that carries the session. A driver has no use for a socket without that."""
        return self._calls is not None

    def _is_ordered(self) -> bool:
        """Whether a session cannot outlive its connection; true as well while there is no connection to ask."""
        return self._calls is None or self._calls.ordered

    def _forget(self) -> Flow:
        self._opened = None
        if self._calls is not None:
            self._calls = None
            yield Drop()

    def _next_id(self) -> int:
        # Never twice in a process: a connection goes from client to client, and an answer must find its own request.
        return next(_request_ids)

    def _open(self) -> Flow:
        deadline = self._clock() + self._settings.reconnect_timeout_s
        for wait_s in backoff():
            try:
                self._calls, self._opened = yield from self._open_once()
            except ConnectionGoneError as gone:
                # Nothing has begun that could be lost; but most servers that say why they close mean it.
                yield Drop()
                if gone.code not in _ACCIDENTS or self._clock() + wait_s >= deadline:
                    raise ConnectionFailedError(
                        f"the server closed the connection before a session was open ({gone})"
                    ) from gone
            else:
                return
            yield Sleep(wait_s)

    def _open_once(self) -> Flow:
        # The connection is the flow's own only when the session is on it: this may be given up at any yield.
        calls = yield Connect()
        self.hello = calls.hello
        request_id, wait_s = self._next_id(), self._settings.wait_for_capacity_s
        message = calls.open(request_id, wait_s)
        if message is None:
            return calls, Opened("", "")
        request = _Request(request_id, message, wait_s + self._settings.message_timeout_s, "message_timeout_s")
        yield Send(message)
        opened = yield from self._await_answer(calls, request)
        return calls, opened

    def _call(self, verb: str, data: Any, timeout_s: float | None) -> Flow:
        assert self._calls is not None
        assert self._opened is not None
        request_id, session = self._next_id(), self._opened.session
        if verb == "step":
            message = self._calls.step(request_id, session, data, timeout_s)
        elif verb == "reset":
            message = self._calls.reset(request_id, session, data)
        else:
            message = self._calls.state(request_id, session)
        self._check_size(message)
        limit_s = self._settings.message_timeout_s
        request = _Request(request_id, message, limit_s, "message_timeout_s")
        if timeout_s is not None:
            # The server ends the call at timeout_s; its answer needs a moment to arrive.
            request.limit_s, request.setting = timeout_s + 5.0, "timeout_s"
        self._out = request_id
        try:
            value = yield from self._exchange(request)
        except SessionLostError as error:
            self._lose(error)
            if self._is_ordered():
                yield from self._forget()
            raise
        except MessageTooLargeError:
            # The connection ends with a message too large for it; the next call takes the session up again.
            self._calls = self._out = None
            yield Drop()
            raise
        except (CapacityReachedError, EnvironmentFactoryError):
            yield from self._forget()  # version 1 refuses a session at its first request
            raise
        return value

    def _check_size(self, message: bytes) -> None:
        if self.hello is None:
            return
        limit = self.hello.limits.max_message_bytes
        if len(message) > limit:
            raise MessageTooLargeError(
                f"this request has {len(message)} bytes and the server takes at most {limit}; nothing was sent",
                size=len(message),
                limit=limit,
            )

    def _exchange(self, request: _Request) -> Flow:
        """Send a request and wait for its answer, on a new connection where the old one breaks."""
        first = request.deadline = self._clock() + request.limit_s
        last = first + self._settings.reconnect_timeout_s
        while True:
            assert self._calls is not None
            try:
                yield Send(request.message)
                return (yield from self._await_answer(self._calls, request))
            except ConnectionGoneError as gone:
                yield from self._resume(gone, last, len(request.message))
                # The answer may be there since long: what is left of the time must be enough to hear it.
                request.deadline = min(last, max(first, self._clock() + _LAST_WORD_S))

    def _await_answer(self, calls: Calls, request: _Request) -> Flow:
        if request.deadline is None:
            request.deadline = self._clock() + request.limit_s
        while True:
            try:
                message = yield Receive(request.deadline - self._clock())
            except TimeoutError:
                yield from self._time_out(request)
            for event in calls.feed(message):
                if isinstance(event, Answer) and event.id == request.id:
                    if request.id == self._out:
                        self._out = None
                    if event.error is not None:
                        raise event.error
                    return event.value
                self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, Greeting):
            self.hello = event.hello
        elif isinstance(event, Position):
            if self._on_position is not None:
                self._on_position(event.position)
        elif isinstance(event, Loss) and event.session in (None, self.session_id):
            self._lost_unasked = True
            raise event.error

    def _time_out(self, request: _Request) -> Flow:
        if request.id == self._out:
            yield from self._settle()
        raise CallTimeoutError(
            f"no answer within {request.limit_s:g} s. The call may still run at the server and its answer will be "
            f"dropped; a larger {request.setting} waits longer",
            limit_s=request.limit_s,
        )

    def _resume(self, gone: ConnectionGoneError, last: float, size: int = 0) -> Flow:
        """Get the session back on a new connection, or find it lost. Not later than ``last``."""
        opened, self._calls = self._opened, None
        yield Drop()
        if gone.code == 1009:
            self._lose(gone.loss())
            text = f"the server refused a message of {size} bytes as too large ({gone.reason})"
            raise MessageTooLargeError(text, size=size)
        if opened is None or not opened.token:
            raise self._lose(gone.loss())
        started, more = (now := self._clock()), ""
        deadline = min(last, now + min(self._settings.reconnect_timeout_s, self._grace_s()))
        for wait_s in backoff():
            if now + wait_s >= deadline:
                break
            try:
                self._calls = yield from self._resume_once(opened, gone)
            except (ConnectionFailedError, ConnectionGoneError, CallTimeoutError) as error:
                why = getattr(error, "message", error)
                more = f"; none could be made within {deadline - started:g} s, as reconnect_timeout_s has it: {why}"
                yield Drop()
            except SessionLostError as error:
                self._lose(error)
                raise
            else:
                return
            yield Sleep(wait_s)
            now = self._clock()
        raise self._lose(gone.loss(more))

    def _resume_once(self, opened: Opened, gone: ConnectionGoneError) -> Flow:
        # As for the first opening, the connection is not the flow's own yet.
        calls = yield Connect()
        if not calls.resumable:
            raise gone.loss()
        request_id, limit_s = self._next_id(), self._settings.connect_timeout_s
        yield Send(calls.resume(request_id, opened))
        yield from self._await_answer(calls, _Request(request_id, b"", limit_s, "connect_timeout_s"))
        return calls

    def _grace_s(self) -> float:
        return self.hello.limits.resume_grace_s if self.hello is not None else self._settings.reconnect_timeout_s

    def _lose(self, error: SessionLostError) -> SessionLostError:
        # A copy: the error itself is raised, and its traceback holds the client. Kept, it would keep the client.
        self.lost = SessionLostError(error.message, **error.details)
        self._opened = None
        self._out = None
        return error
