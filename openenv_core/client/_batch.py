"""How many sessions are carried: all on one socket (protocol version 2), or each on its own (version 1)."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from openenv_core.client._base import ClientBase
from openenv_core.client._flow import ConnectionGoneError, Effect, Flow, Receive, backoff
from openenv_core.client.sync import Driver, EnvClient
from openenv_core.errors import CallTimeoutError, ConnectionFailedError, LossReason, OpenEnvError, SessionLostError
from openenv_core.wire.calls import Answer, Calls, Event, Greeting, Loss, Opened
from openenv_core.wire.codec import join_frames
from openenv_core.wire.frames import HelloData

__all__ = ["Carrier", "OneSocket", "Outcome", "Request", "SideBySide"]

Verb = Literal["reset", "step", "state"]

_FRAMES_PER_MESSAGE = 32
"""Requests go out in messages of so many frames: the server works on the first while the rest is written."""


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
    def close(self) -> None:
        """End all sessions. Never fails."""


class _Slot:
    """One session of the batch."""

    __slots__ = ("lost", "message", "opened", "request_id")

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self.lost: SessionLostError | None = None
        self.request_id = 0
        self.message = b""


class OneSocket(Carrier):
    """All sessions on one socket."""

    def __init__(self, client: ClientBase, driver: Driver, calls: Calls, sessions: int) -> None:
        self._client = client
        self._driver = driver
        self._calls = calls
        self._slots = [_Slot() for _ in range(sessions)]
        self._by_session: dict[str, int] = {}
        self._out: dict[int, int] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._last_id = 0
        self._deadline = 0.0
        self._limit_s = 0.0
        self.hello: HelloData | None = None

    def open(self, indices: list[int]) -> None:
        """Open the sessions that are not open. Raises the first error there is, after all have been answered."""
        settings = self._client._settings
        wait_s = settings.wait_for_capacity_s
        answers = self._ask(
            {index: self._calls.open(self._next_id(), wait_s) or b"" for index in indices},
            wait_s + settings.message_timeout_s,
        )
        for index, (value, error) in answers.items():
            if error is None:
                slot = self._slots[index]
                slot.opened, slot.lost = value, None
                self._by_session[value.session] = index
        for _, error in answers.values():
            if error is not None:
                raise error

    def submit(self, requests: Mapping[int, Request], limit_s: float) -> None:
        anew = [i for i, request in requests.items() if request.verb == "reset" and self._slots[i].opened is None]
        if anew:
            self.open(anew)
        if not self._out:
            self._deadline, self._limit_s = time.monotonic() + limit_s, limit_s
        messages = []
        for index, (verb, data) in requests.items():
            slot = self._slots[index]
            if slot.opened is None:
                lost = slot.lost or SessionLostError("no session is open; call reset", reason=LossReason.CLOSED)
                self._outcomes[index] = Outcome(None, lost)
                continue
            self._last_id = request_id = self._last_id + 1
            session = slot.opened.session
            if verb == "step":
                message = self._calls.step(request_id, session, data, None)
            elif verb == "reset":
                message = self._calls.reset(request_id, session, data)
            else:
                message = self._calls.state(request_id, session)
            slot.request_id, slot.message = request_id, message
            self._out[request_id] = index
            messages.append(message)
        self._send(messages)

    def collect(self, count: int) -> dict[int, Outcome]:
        count = min(count, len(self._out) + len(self._outcomes))
        while len(self._outcomes) < count:
            self._receive()
        found, self._outcomes = self._outcomes, {}
        return found

    def close(self) -> None:
        with contextlib.suppress(ConnectionGoneError, OpenEnvError, OSError):
            self._driver.live_socket()
            frames = {
                index: self._calls.close(self._next_id(), slot.opened.session)
                for index, slot in enumerate(self._slots)
                if slot.opened is not None
            }
            self._out.clear()
            self._ask(frames, 5.0, mends=False)
        for slot in self._slots:
            slot.opened = None
        self._driver.drop()

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _ask(self, frames: Mapping[int, bytes], limit_s: float, *, mends: bool = True) -> dict[int, Outcome]:
        """Send one frame for each index, ids in order, and wait for all the answers."""
        kept, self._outcomes = self._outcomes, {}
        first = self._last_id - len(frames) + 1
        self._deadline, self._limit_s = time.monotonic() + limit_s, limit_s
        self._out.update({first + place: index for place, index in enumerate(frames)})
        try:
            self._send(list(frames.values()), mends=mends)
            while self._out:
                self._receive(mends=mends)
            return self._outcomes
        finally:
            self._outcomes = kept

    def _send(self, messages: list[bytes], *, mends: bool = True) -> None:
        try:
            for start in range(0, len(messages), _FRAMES_PER_MESSAGE):
                self._driver.live_socket().send(join_frames(messages[start : start + _FRAMES_PER_MESSAGE]))
        except ConnectionGoneError as gone:
            if not mends:
                raise
            self._mend(gone)

    def _receive(self, *, mends: bool = True) -> None:
        try:
            message = self._driver.live_socket().receive(self._deadline - time.monotonic())
        except TimeoutError:
            self._time_out()
            return
        except ConnectionGoneError as gone:
            if not mends:
                raise
            self._mend(gone)
            return
        for event in self._calls.feed(message):
            if isinstance(event, Answer):
                index = self._out.pop(event.id, None)
                if index is not None:
                    if isinstance(event.error, SessionLostError):
                        self._lose(index, event.error)
                    self._outcomes[index] = Outcome(event.value, event.error)
            else:
                self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, Greeting):
            self.hello = event.hello
        elif isinstance(event, Loss):
            for name in [event.session] if event.session is not None else list(self._by_session):
                index = self._by_session.get(name)
                if index is not None:
                    self._lose(index, event.error)

    def _lose(self, index: int, error: SessionLostError) -> None:
        """The session is gone; a call of it that is out will get no other answer."""
        slot = self._slots[index]
        if slot.opened is not None:
            self._by_session.pop(slot.opened.session, None)
        slot.opened, slot.lost = None, error
        if self._out.pop(slot.request_id, None) is not None:
            self._outcomes[index] = Outcome(None, error)

    def _time_out(self) -> None:
        error = CallTimeoutError(
            f"no answer within {self._limit_s:g} s; the call may still run at the server and its answer will be "
            "dropped. A larger message_timeout_s waits longer",
            limit_s=self._limit_s,
        )
        late, self._out = self._out, {}
        self._outcomes.update({index: Outcome(None, error) for index in late.values()})

    def _mend(self, gone: ConnectionGoneError) -> None:
        """Get the sessions back on a new connection, and send again what is out."""
        settings = self._client._settings
        grace_s = self.hello.limits.resume_grace_s if self.hello is not None else settings.reconnect_timeout_s
        deadline = time.monotonic() + min(settings.reconnect_timeout_s, grace_s)
        for wait_s in backoff():
            try:
                self._calls = self._driver.connect(self._client)
                self._resume_all()
            except (ConnectionFailedError, ConnectionGoneError):
                if time.monotonic() + wait_s >= deadline:
                    break
                time.sleep(wait_s)
            else:
                return
        for index, slot in enumerate(self._slots):
            if slot.opened is not None:
                self._lose(index, gone.loss())
        late, self._out = self._out, {}
        failed = ConnectionFailedError(f"the connection is gone ({gone}) and could not be made again")
        self._outcomes.update({index: Outcome(None, failed) for index in late.values()})

    def _resume_all(self) -> None:
        if not self._calls.resumable:
            raise ConnectionGoneError(reason="the server does not keep sessions any more")
        out, self._out = self._out, {}
        limits = self._deadline, self._limit_s
        try:
            held = {index: slot.opened for index, slot in enumerate(self._slots) if slot.opened is not None}
            frames = {index: self._calls.resume(self._next_id(), opened) for index, opened in held.items()}
            answers = self._ask(frames, self._client._settings.message_timeout_s, mends=False)
        finally:
            self._out = out
            self._deadline, self._limit_s = limits
        for index, (_, error) in answers.items():
            if error is not None:
                self._lose(
                    index, SessionLostError(error.message, **{"reason": LossReason.DISCONNECTED, **error.details})
                )
        again = [slot.message for slot in self._slots if slot.request_id in self._out]
        self._send(again, mends=False)


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

    def close(self) -> None:
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
