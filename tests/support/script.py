"""Runs a client's flow against a script: what comes of each effect is written down, and no socket is opened."""

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from openenv_core.client._effects import Connect, ConnectionGoneError, Drop, Effect, Flow, Receive, Release, Send, Sleep
from openenv_core.client._flow import SessionFlow
from openenv_core.errors import OpenEnvError
from openenv_core.settings import ClientSettings
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.calls import Calls, V1Calls, V2Calls
from openenv_core.wire.codec import encode_error
from tests.support.journal import Seen, WorldState

__all__ = [
    "GONE",
    "SILENCE",
    "Script",
    "closed",
    "failed",
    "failed_v1",
    "hello",
    "observed",
    "observed_v1",
    "opened",
    "queued",
    "resumed",
    "told",
]

Frame = dict[str, Any]
Answer = Callable[[Frame], bytes]

SILENCE = TimeoutError()
"""Nothing comes within the time that the flow waits."""

GONE = ConnectionGoneError()
"""The connection ends without a close."""


def _written(reply: Callable[[Frame], Frame]) -> Answer:
    return lambda request: json.dumps(reply(request)).encode()


def hello(**limits: float) -> Answer:
    """The greeting."""
    known = {"max_message_bytes": 10_000, "step_deadline_s": 60, "idle_timeout_s": 60, "resume_grace_s": 60, **limits}
    capacity = {"active": 0, "max": 1, "queued": 0}
    data = {"protocol": 2, "server": "test/1", "env_name": "e", "limits": known, "capacity": capacity}
    return _written(lambda request: {"type": "hello", "data": data})


def opened(session: str = "s") -> Answer:
    """A session is open."""
    return _written(
        lambda request: {
            "id": request["id"],
            "session": session,
            "type": "opened",
            "data": {"token": f"token-{session}"},
        }
    )


def resumed() -> Answer:
    """The session is back."""
    return _written(
        lambda request: {
            "id": request["id"],
            "session": request["data"]["session"],
            "type": "resumed",
            "data": {"last_id": 1},
        }
    )


def queued(position: int) -> Answer:
    """The opening waits."""
    return _written(lambda request: {"id": request["id"], "type": "queued", "data": {"position": position}})


def observed(steps: int = 0, *, request_id: int | None = None) -> Answer:
    """The answer to a reset or a step; to an earlier one than the last, if its id is given."""
    return _written(
        lambda request: {
            "id": request_id or request["id"],
            "session": request["session"],
            "type": "observation",
            "data": {"steps": steps},
        }
    )


def closed() -> Answer:
    """The answer to a close."""
    data = {"reason": "closed", "message": "as asked"}
    return _written(
        lambda request: {"id": request["id"], "session": request["session"], "type": "closed", "data": data}
    )


def told(reason: str, session: str = "s") -> Answer:
    """A session has ended by itself."""
    data = {"reason": reason, "message": "it ended"}
    return _written(lambda request: {"session": session, "type": "closed", "data": data})


def failed(error: OpenEnvError) -> Answer:
    """An error in the place of an answer."""
    return lambda request: encode_error(request.get("id"), request.get("session"), error)


class Script:
    """A flow, its clock, and what is to come.

    Attributes:
        sent: the frames that were sent.
        effects: the names of all effects, in order.
        now: the moment on the clock; silences and sleeps move it.
    """

    def __init__(self, *, version: int = 2, **settings: Any) -> None:
        self.now = 0.0
        self.version = version
        self.positions: list[int] = []
        self.sent: list[Frame] = []
        self.effects: list[str] = []
        self._to_come: deque[Answer | Exception] = deque()
        self._connects: deque[Calls | Exception] = deque()
        self.flow = SessionFlow(ClientSettings(**settings), on_position=self.positions.append, clock=lambda: self.now)

    def expect(self, *to_come: Answer | Exception) -> "Script":
        """What is received next, one for each time that the flow waits for something."""
        self._to_come.extend(to_come)
        return self

    def connects(self, *outcomes: Calls | Exception) -> "Script":
        """What comes of the next connections; afterwards they succeed."""
        self._connects.extend(outcomes)
        return self

    def run(self, flow: Flow, *, to_the_last: bool = True) -> Any:
        """Run a flow to its end. Everything that was to come must have been wanted, unless it may be left over."""
        try:
            effect = flow.send(None)
            while True:
                effect = self._advance(flow, effect)
        except StopIteration as end:
            return end.value
        finally:
            assert not self._to_come or not to_the_last, f"{len(self._to_come)} messages were not waited for"
            self._to_come.clear()

    def run_until_waiting(self, flow: Flow) -> Flow:
        """Run a flow until it waits with nothing to come, and leave it there."""
        effect = flow.send(None)
        while not (isinstance(effect, Receive) and not self._to_come):
            effect = self._advance(flow, effect)
        return flow

    def open(self, session: str = "s") -> "Script":
        """Connect and open a session."""
        if self.version == 2:
            self.expect(hello(), opened(session))
        self.run(self.flow.connect())
        return self.forget()

    def forget(self) -> "Script":
        """Begin to write down anew."""
        self.sent.clear()
        self.effects.clear()
        return self

    def kinds(self) -> list[str]:
        """The types of the frames that were sent."""
        return [frame["type"] for frame in self.sent]

    def _advance(self, flow: Flow, effect: Effect) -> Effect:
        self.effects.append(type(effect).__name__)
        try:
            came = self._perform(effect)
        except (ConnectionGoneError, OSError, RuntimeError) as error:
            return flow.throw(error)
        return flow.send(came)

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Connect):
            outcome = self._connects.popleft() if self._connects else self._calls()
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        if isinstance(effect, Send):
            self.sent.append(json.loads(effect.message))
        elif isinstance(effect, Sleep):
            self.now += effect.seconds
        elif isinstance(effect, Receive):
            return self._receive(effect)
        else:
            assert isinstance(effect, Drop | Release)
        return None

    def _receive(self, effect: Receive) -> bytes:
        assert self._to_come, "the flow waits for more than was to come"
        came = self._to_come.popleft()
        if came is SILENCE:
            self.now += max(0.0, effect.limit_s)
        if isinstance(came, Exception):
            raise came
        return came(self.sent[-1] if self.sent else {})

    def _calls(self) -> Calls:
        return V2Calls(Seen, WorldState) if self.version == 2 else V1Calls(Seen, WorldState)


def observed_v1(steps: int = 0) -> Answer:
    """An answer of version 1."""
    return lambda request: v1.encode_observation(Seen(steps=steps), truncated=False)


def failed_v1(error: OpenEnvError) -> Answer:
    """An error of version 1."""
    return lambda request: v1.encode_error(error)
