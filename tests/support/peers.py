"""Raw peers: what they send is what a test says, so that they can do what no client of ours would."""

import contextlib
import json
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from openenv_core.errors import OpenEnvError, error_from_wire
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.frames import SUBPROTOCOL

__all__ = ["V1Peer", "V2Peer", "frame"]

_LIMIT_S = 15.0

Frame = dict[str, Any]


def frame(kind: str, request_id: int | None = None, session: str | None = None, **fields: Any) -> Frame:
    """A frame of version 2, with what is given."""
    head = {"id": request_id, "session": session, "type": kind}
    return {key: value for key, value in head.items() if value is not None} | fields


class _Peer:
    """A WebSocket and what came on it."""

    def __init__(self, ws_url: str, *, subprotocols: list[str] | None = None, **arguments: Any) -> None:
        offered = [Subprotocol(name) for name in subprotocols] if subprotocols else None
        self.socket: Any = connect(
            ws_url, subprotocols=offered, proxy=None, max_size=None, open_timeout=_LIMIT_S, legacy=True, **arguments
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send_text(self, text: str | bytes) -> None:
        """Send a message as it is; bytes make a binary one."""
        self.socket.send(text)

    def receive(self) -> Any:
        """The next message, read."""
        return json.loads(self.socket.recv(timeout=_LIMIT_S))

    def end(self) -> tuple[int, str]:
        """Wait for the other side to end the connection: its close code and reason."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self.socket.recv(timeout=_LIMIT_S)
        assert self.socket.close_code is not None
        return self.socket.close_code, self.socket.close_reason or ""

    def hang_up(self) -> None:
        """End the connection without a word, as a client that is killed does."""
        # Not close(): while another thread reads from the socket, that would tell the other side nothing.
        self.socket.socket.shutdown(socket.SHUT_RDWR)


class V1Peer(_Peer):
    """A client of protocol version 1."""

    def ask(self, request: Any) -> Frame:
        """Send a request, or any text, and wait for the one reply."""
        # A server that refuses says so before it is asked, and closes: that is the answer, then.
        with contextlib.suppress(ConnectionClosed):
            self.send_text(request if isinstance(request, str | bytes) else json.dumps(request))
        reply: Frame = self.receive()
        return reply

    def reset(self, **options: Any) -> Frame:
        """Start an episode; the reply's data."""
        return self._value({"type": "reset", "data": options})

    def step(self, **action: Any) -> Frame:
        """Do one action; the reply's data."""
        return self._value({"type": "step", "data": action})

    def state(self) -> Frame:
        """The state."""
        return self._value({"type": "state"})

    def _value(self, request: Frame) -> Frame:
        reply = self.ask(request)
        if reply["type"] == "error":
            raise v1.error_of(reply["data"])
        data: Frame = reply["data"]
        return data


class V2Peer(_Peer):
    """A client of protocol version 2."""

    def __init__(self, ws_url: str, **arguments: Any) -> None:
        super().__init__(ws_url, subprotocols=[SUBPROTOCOL], **arguments)
        assert self.socket.subprotocol == SUBPROTOCOL
        self._frames: list[Frame] = []
        self._last_id = 0
        self.hello = self.next()

    def next_id(self) -> int:
        """A request id that was not used before."""
        self._last_id += 1
        return self._last_id

    def send(self, *frames: Frame) -> None:
        """Send one frame, or several in one message."""
        self.send_text(json.dumps(frames[0] if len(frames) == 1 else frames))

    def next(self) -> Frame:
        """The next frame that has not been looked at."""
        while not self._frames:
            self._frames += self._message()
        return self._frames.pop(0)

    def answer(self, request_id: int | None) -> Frame:
        """Wait for the final answer to a request, or for the next frame that answers none. Others keep their turn."""
        for found in self._all():
            if found.get("id") == request_id and found["type"] not in ("queued", "hello"):
                self._frames.remove(found)
                return found
        raise AssertionError

    def answers(self, *request_ids: int) -> list[Frame]:
        """The answers to several requests."""
        return [self.answer(request_id) for request_id in request_ids]

    def ask(self, kind: str, session: str | None = None, **fields: Any) -> Frame:
        """Send a request and wait for its answer."""
        request_id = self.next_id()
        self.send(frame(kind, request_id, session, **fields))
        return self.answer(request_id)

    def open(self, **data: Any) -> tuple[str, str]:
        """Open a session: its name and its token."""
        opened = self.value("open", data=data)
        return opened["session"], opened["data"]["token"]

    def value(self, kind: str, session: str | None = None, **fields: Any) -> Frame:
        """As :meth:`ask`; an error is raised in its own class."""
        reply = self.ask(kind, session, **fields)
        if reply["type"] == "error":
            raise error_of(reply)
        return reply

    def _all(self) -> Iterator[Frame]:
        place = 0
        while True:
            while place == len(self._frames):
                self._frames += self._message()
            yield self._frames[place]
            place += 1

    def _message(self) -> list[Frame]:
        message = self.receive()
        return message if isinstance(message, list) else [message]


def error_of(reply: Frame) -> OpenEnvError:
    """The error that a frame carries."""
    data = reply["data"]
    return error_from_wire(data["code"], data["message"], data["details"])
