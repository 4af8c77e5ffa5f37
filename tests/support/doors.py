"""The doors of a server, alike: a session with raw data in, and plain values or typed errors out.

What is true behind one door is tried behind all of them.
"""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from openenv_core.errors import error_from_wire
from tests.support.peers import V1Peer, V2Peer
from tests.support.serving import Served

__all__ = ["DOORS", "Door", "HttpPlayer"]

Values = dict[str, Any]


class Door(ABC):
    """One session behind one door."""

    @abstractmethod
    def reset(self, **options: Any) -> Values:
        """Start an episode: the observation with its numbers."""

    @abstractmethod
    def step(self, action: Any) -> Values:
        """Do one action, whatever JSON value it is: the observation with its numbers."""

    @abstractmethod
    def state(self) -> Values:
        """The state."""

    @abstractmethod
    def raw(self, text: str) -> Values:
        """Send a text in the place of a request for a step, and return the error that it is answered with."""


def _merged(data: Values) -> Values:
    """The numbers beside an observation put inside it, where other doors have them."""
    beside = {key: data[key] for key in ("reward", "done", "truncated", "success") if key in data}
    return {**data["observation"], **beside}


class _V1Door(Door):
    def __init__(self, peer: V1Peer) -> None:
        self.peer = peer

    def reset(self, **options: Any) -> Values:
        return _merged(self.peer.reset(**options))

    def step(self, action: Any) -> Values:
        return _merged(self.peer._value({"type": "step", "data": action}))

    def state(self) -> Values:
        return self.peer.state()

    def raw(self, text: str) -> Values:
        reply = self.peer.ask(text)
        assert reply["type"] == "error", reply
        data: Values = reply["data"]
        return data


class _V2Door(Door):
    def __init__(self, peer: V2Peer) -> None:
        self.peer = peer
        self.session, self.token = peer.open()

    def reset(self, **options: Any) -> Values:
        data: Values = self.peer.value("reset", self.session, data=options)["data"]
        return data

    def step(self, action: Any) -> Values:
        answer = self.peer.value("step", self.session, data=action)
        return {**answer["data"], **({"truncated": True} if answer.get("truncated") else {})}

    def state(self) -> Values:
        data: Values = self.peer.value("state", self.session)["data"]
        return data

    def raw(self, text: str) -> Values:
        self.peer.send_text(text)
        answer = self.peer.next()
        assert answer["type"] == "error", answer
        data: Values = answer["data"]
        return data


class HttpPlayer(Door):
    """A session of plain HTTP, as a browser has it: with a cookie."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def reset(self, **options: Any) -> Values:
        """Start an episode."""
        return _merged(self._value(self.client.post("/reset", content=json.dumps(options), headers=_JSON)))

    def step(self, action: Any) -> Values:
        """Do one action."""
        text = json.dumps({"action": action})
        return _merged(self._value(self.client.post("/step", content=text, headers=_JSON)))

    def state(self) -> Values:
        """The state."""
        return self._value(self.client.get("/state"))

    def raw(self, text: str) -> Values:
        """Send a body to ``/step``."""
        response = self.client.post("/step", content=text.encode("utf-8", "surrogatepass"), headers=_JSON)
        assert response.status_code >= 400
        data: Values = response.json()
        return data

    def _value(self, response: httpx.Response) -> Values:
        body: Values = response.json()
        if response.is_success:
            return body
        if "code" in body:
            raise error_from_wire(body["code"], body["message"], body["details"])
        raise error_from_wire("VALIDATION_ERROR", json.dumps(body["detail"]), {"errors": body["detail"]})


_JSON = {"content-type": "application/json"}


@contextlib.contextmanager
def _v1(served: Served) -> Iterator[Door]:
    with V1Peer(served.ws_url) as peer:
        yield _V1Door(peer)


@contextlib.contextmanager
def _v2(served: Served) -> Iterator[Door]:
    with V2Peer(served.ws_url) as peer:
        door = _V2Door(peer)
        yield door
        # Over a broken socket it would be kept for its client; here nobody comes back.
        with contextlib.suppress(Exception):
            peer.ask("close", door.session)


@contextlib.contextmanager
def _http(served: Served) -> Iterator[Door]:
    with httpx.Client(base_url=served.base_url, trust_env=False, timeout=15.0) as client:
        yield HttpPlayer(client)


DOORS: dict[str, Callable[[Served], contextlib.AbstractContextManager[Door]]] = {"v1": _v1, "v2": _v2, "http": _http}
