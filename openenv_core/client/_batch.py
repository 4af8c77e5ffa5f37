"""How many sessions are carried: all on one socket (protocol version 2), or each on its own (version 1)."""

import contextlib
import math
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from openenv_core.client._base import ClientBase
from openenv_core.client._effects import ConnectionGoneError, Effect, Flow, Receive, backoff
from openenv_core.client.sync import Driver, EnvClient
from openenv_core.errors import (
    CallTimeoutError,
    ConnectionFailedError,
    LossReason,
    MessageTooLargeError,
    OpenEnvError,
    SessionLostError,
)
from openenv_core.wire.calls import Answer, Calls, Event, Greeting, Loss, Opened
from openenv_core.wire.codec import join_frames
from openenv_core.wire.frames import HelloData

__all__ = ["Carrier", "OneSocket", "Outcome", "Request", "SideBySide", "Verb"]

Verb = Literal["reset", "step", "state"]

_FRAMES_PER_MESSAGE = 32
"""Requests go out in messages of so many frames: the server works on the first while the rest is written."""

_LAST_WORD_S = 5.0
"""After a connection has been mended, so much time is left at least to hear the answers of the calls that were out."""


class Request(NamedTuple):
    """One call: the verb, and the options of a reset or the action of a step."""

    verb: Verb
    data: Any = None


class Outcome(NamedTuple):
    """What a call came to: a value, or an error."""

    value: Any
    error: OpenEnvError | None = None


class Carrier(ABC):
    """Carries the calls of many sessions, by the sessions' indices. One call per session is out at a time."""

    @abstractmethod
    def submit(self, requests: Mapping[int, Request], limit_s: float) -> None:
        """Send the calls. What cannot be sent is an outcome like any other."""

    @abstractmethod
    def collect(self, count: int) -> dict[int, Outcome]:
        """Wait until at least ``count`` calls that are out have an outcome; returns all that have one."""

    @abstractmethod
    def close(self, limit_s: float = 5.0) -> None:
        """End all sessions, and wait so long until the server says that they are ended. Never fails."""


@dataclass(slots=True)
class _Slot:
    """One session of the batch: what holds it, or why it is gone; and the id of its call that is out."""

    opened: Opened | None = None
    lost: SessionLostError | None = None
    request_id: int = 0


@dataclass(slots=True)
class _Out:
    """A frame that is out, and until when. ``following``: the reset for whose sake a session is opened."""

    index: int
    message: bytes
    verb: Literal["open"] | Verb
    limit_s: float
    deadline: float
    last: float
    data: Any = None
    following: Request | None = None


class OneSocket(Carrier):
    """All sessions on one socket."""

    def __init__(self, client: ClientBase, driver: Driver, calls: Calls, sessions: int) -> None:
        self._client = weakref.proxy(client)  # its finalizer holds this carrier
        self._settings = client._settings
        self._driver = driver
        self._calls = calls
        self._slots = [_Slot() for _ in range(sessions)]
        self._by_session: dict[str, int] = {}
        self._out: dict[int, _Out] = {}
        self._unsent: list[bytes] = []
        self._outcomes: dict[int, Outcome] = {}
        self._last_id = 0
        self._deadline = math.inf  # none of what is out is late before
        self.hello: HelloData | None = calls.hello

    def open(self) -> None:
        """Open all sessions. Raises the first error there is, after all have been answered."""
        for index in range(len(self._slots)):
            self._put_open(index)
        for index, (_, error) in sorted(self.collect(len(self._slots)).items()):
            if error is not None:
                error.details.setdefault("session_index", index)
                raise error

    def submit(self, requests: Mapping[int, Request], limit_s: float) -> None:
        for index, request in requests.items():
            slot = self._slots[index]
            if self._outcomes or slot.request_id in self._out:
                self._abandon(index)
            if slot.opened is not None:
                self._put(index, slot.opened, request, limit_s)
            elif request.verb == "reset":
                self._put_open(index, request)
            else:
                lost = slot.lost or SessionLostError("no session is open; call reset", reason=LossReason.CLOSED)
                self._outcomes[index] = Outcome(None, _copied(lost))
        self._flush()

    def collect(self, count: int) -> dict[int, Outcome]:
        count = min(count, len(self._out) + len(self._outcomes))
        while len(self._outcomes) < count:
            self._flush()
            self._receive()
        found, self._outcomes = self._outcomes, {}
        return found

    def close(self, limit_s: float = 5.0) -> None:
        self._out.clear()
        with contextlib.suppress(ConnectionGoneError, OpenEnvError, OSError, TimeoutError):
            opened = [slot.opened for slot in self._slots if slot.opened is not None]
            self._ask({(one := self._next_id()): self._calls.close(one, o.session) for o in opened}, limit_s)
        for slot in self._slots:
            slot.opened = None
        self._driver.drop()

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _put(self, index: int, opened: Opened, request: Request, limit_s: float) -> None:
        request_id, (verb, data) = self._next_id(), request
        if verb == "step":
            message = self._calls.step(request_id, opened.session, data, None)
        elif verb == "reset":
            message = self._calls.reset(request_id, opened.session, data)
        else:
            message = self._calls.state(request_id, opened.session)
        if self.hello is not None and len(message) > (limit := self.hello.limits.max_message_bytes):
            text = f"this request has {len(message)} bytes and the server takes at most {limit}; nothing was sent"
            self._outcomes[index] = Outcome(None, MessageTooLargeError(text, size=len(message), limit=limit))
            return
        self._register(request_id, index, message, verb, limit_s).data = data

    def _put_open(self, index: int, following: Request | None = None) -> None:
        request_id, wait_s = self._next_id(), self._settings.wait_for_capacity_s
        message = self._calls.open(request_id, wait_s) or b""
        out = self._register(request_id, index, message, "open", wait_s + self._settings.message_timeout_s)
        out.following = following

    def _register(self, request_id: int, index: int, message: bytes, verb: Any, limit_s: float) -> _Out:
        deadline = time.monotonic() + limit_s
        out = _Out(index, message, verb, limit_s, deadline, deadline + self._settings.reconnect_timeout_s)
        self._out[request_id] = out
        self._deadline = min(self._deadline, deadline)
        self._slots[index].request_id = request_id
        self._unsent.append(message)
        return out

    def _abandon(self, index: int) -> None:
        """A call of this session that is still out was given up (an interrupt): its answer must meet no other call."""
        request_id = self._slots[index].request_id
        self._outcomes.pop(index, None)
        if self._out.pop(request_id, None) is not None:
            self._unsent.append(self._calls.cancel(request_id) or b"")

    def _flush(self) -> None:
        if self._unsent:
            unsent, self._unsent = self._unsent, []
            try:
                self._write(unsent)
            except ConnectionGoneError as gone:
                self._mend(gone)

    def _write(self, messages: list[bytes]) -> None:
        limit = self.hello.limits.max_message_bytes if self.hello is not None else 1 << 20
        together: list[bytes] = []
        size = 0
        for message in messages:
            if together and (len(together) == _FRAMES_PER_MESSAGE or size + len(message) >= limit):
                self._driver.live_socket().send(join_frames(together))
                together, size = [], 0
            together.append(message)
            size += len(message) + 2
        if together:
            self._driver.live_socket().send(join_frames(together))

    def _receive(self) -> None:
        if not self._out:
            return
        try:
            message = self._driver.live_socket().receive(self._deadline - time.monotonic())
        except TimeoutError:
            self._time_out()
        except ConnectionGoneError as gone:
            self._mend(gone)
        except MessageTooLargeError as error:
            self._give_up(ConnectionGoneError(reason=error.message), error)
        else:
            for event in self._calls.feed(message):
                self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, Answer):
            out = self._out.pop(event.id, None)
            if out is not None:
                self._settle(out, event)
            elif isinstance(event.value, Opened):
                self._unsent.append(self._calls.close(self._next_id(), event.value.session))
        elif isinstance(event, Greeting):
            self.hello = event.hello
        elif isinstance(event, Loss):
            for name in [event.session] if event.session is not None else list(self._by_session):
                index = self._by_session.get(name)
                if index is not None:
                    self._lose(index, event.error)

    def _settle(self, out: _Out, answer: Answer) -> None:
        value, error = answer.value, answer.error
        if out.verb == "open" and error is None:
            slot = self._slots[out.index]
            slot.opened, slot.lost = value, None
            self._by_session[value.session] = out.index
            if out.following is not None:
                self._put(out.index, value, out.following, self._settings.message_timeout_s)
                return
            value = None
        elif isinstance(error, SessionLostError):
            its_own_doing = error.reason in (LossReason.ENV_CRASHED, LossReason.STEP_DEADLINE)
            self._lose(out.index, error)
            if out.verb == "reset" and not its_own_doing:
                self._put_open(out.index, Request("reset", out.data))
                return
        self._outcomes[out.index] = Outcome(value, error)

    def _lose(self, index: int, error: SessionLostError) -> None:
        """The session is gone. A call of it that is out gets no other answer; a reset is made in a new session."""
        slot = self._slots[index]
        if slot.opened is not None:
            self._by_session.pop(slot.opened.session, None)
        slot.opened, slot.lost = None, _copied(error)
        out = self._out.get(slot.request_id)
        if out is None or out.verb == "open":
            return
        del self._out[slot.request_id]
        if out.verb == "reset":
            self._put_open(index, Request("reset", out.data))
        else:
            self._outcomes[index] = Outcome(None, error)

    def _time_out(self) -> None:
        now = time.monotonic()
        self._deadline = min((out.deadline for out in self._out.values() if out.deadline > now), default=math.inf)
        for out in [out for out in self._out.values() if out.deadline <= now]:
            self._abandon(out.index)
            self._outcomes[out.index] = Outcome(
                None,
                CallTimeoutError(
                    f"no answer within {out.limit_s:g} s; the call may still run at the server and its answer will be "
                    "dropped. A larger message_timeout_s waits longer",
                    limit_s=out.limit_s,
                ),
            )

    def _mend(self, gone: ConnectionGoneError) -> None:
        """Get the sessions back on a new connection, and send again what is out."""
        patience_s = self._settings.reconnect_timeout_s
        grace_s = self.hello.limits.resume_grace_s if self.hello is not None else patience_s
        now = time.monotonic()
        deadline = min([now + min(patience_s, grace_s), max((out.last for out in self._out.values()), default=now)])
        for wait_s in backoff():
            if now + wait_s >= deadline or gone.code == 1009:
                break
            try:
                self._calls = self._driver.connect(self._client)
                self._resume_all()
            except (ConnectionFailedError, ConnectionGoneError, TimeoutError):
                time.sleep(wait_s)
            except OpenEnvError as error:
                self._give_up(gone, error)
                return
            else:
                return
            now = time.monotonic()
        self._give_up(gone)

    def _resume_all(self) -> None:
        if not self._calls.resumable:
            raise ConnectionGoneError(reason="the server does not keep sessions any more")
        held = {self._next_id(): (i, slot.opened) for i, slot in enumerate(self._slots) if slot.opened is not None}
        frames = {request_id: self._calls.resume(request_id, opened) for request_id, (_, opened) in held.items()}
        for answer in self._ask(frames, self._settings.connect_timeout_s):
            if answer.error is not None:
                details = {"reason": LossReason.DISCONNECTED, **answer.error.details}
                self._lose(held[answer.id][0], SessionLostError(answer.error.message, **details))
        self._unsent.clear()
        soon = time.monotonic() + _LAST_WORD_S
        for out in self._out.values():
            # The answer may be there since long: what is left of the time must be enough to hear it.
            out.deadline = max(out.deadline, min(soon, out.last))
        self._write([out.message for out in self._out.values()])

    def _ask(self, frames: Mapping[int, bytes], limit_s: float) -> list[Answer]:
        """Send frames of the connection's own, by id, and wait for all their answers."""
        answers: list[Answer] = []
        deadline = time.monotonic() + limit_s
        self._write(list(frames.values()))
        while len(answers) < len(frames):
            message = self._driver.live_socket().receive(deadline - time.monotonic())
            for event in self._calls.feed(message):
                if isinstance(event, Answer) and event.id in frames:
                    answers.append(event)
                else:
                    self._note(event)
        return answers

    def _give_up(self, gone: ConnectionGoneError, why: OpenEnvError | None = None) -> None:
        """The connection cannot be mended: all sessions are lost, and every call that is out has failed."""
        self._driver.drop()
        for slot in self._slots:
            if slot.opened is not None:
                slot.opened, slot.lost = None, gone.loss()
        self._by_session.clear()
        self._unsent.clear()
        late, self._out = self._out, {}
        failed = why or ConnectionFailedError(f"the connection is gone ({gone}) and could not be made again")
        for out in late.values():
            lost = gone.loss() if why is None and out.verb not in ("open", "reset") else failed
            self._outcomes[out.index] = Outcome(None, lost)


def _copied(error: SessionLostError) -> SessionLostError:
    # What is raised holds, by its traceback, whoever waited for it; what is remembered must not.
    return SessionLostError(error.message, **error.details)


class SideBySide(Carrier):
    """Each session on a socket of its own: requests go out on all of them before the first answer is waited for."""

    def __init__(self, clients: list[EnvClient[Any, Any, Any]]) -> None:
        self._clients = clients
        self._out: dict[int, tuple[Flow, Effect]] = {}
        self._outcomes: dict[int, Outcome] = {}

    def submit(self, requests: Mapping[int, Request], limit_s: float) -> None:
        for index, (verb, data) in requests.items():
            flow = self._flow(self._clients[index], verb, data)
            self._go_on(index, flow, None, stops_at_receive=True)

    def collect(self, count: int) -> dict[int, Outcome]:
        for index in list(self._out):
            if len(self._outcomes) >= count:
                break
            flow, effect = self._out.pop(index)
            self._go_on(index, flow, effect, stops_at_receive=False)
        found, self._outcomes = self._outcomes, {}
        return found

    def close(self, limit_s: float = 5.0) -> None:
        for client in self._clients:
            client.close()

    def _flow(self, client: EnvClient[Any, Any, Any], verb: Verb, data: Any) -> Flow:
        if verb == "step":
            return client._flow.step(data, None)
        return client._flow.reset(data) if verb == "reset" else client._flow.state()

    def _go_on(self, index: int, flow: Flow, effect: Effect | None, *, stops_at_receive: bool) -> None:
        client = self._clients[index]
        try:
            following: Effect = flow.send(None) if effect is None else effect
            while not (stops_at_receive and isinstance(following, Receive)):
                following = client._driver.advance(flow, following, client)
            self._out[index] = flow, following
        except StopIteration as end:
            self._outcomes[index] = Outcome(end.value)
        except OpenEnvError as error:
            self._outcomes[index] = Outcome(None, error)
