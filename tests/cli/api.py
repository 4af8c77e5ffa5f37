"""A server that answers as an OpenAI-compatible API does; who answers is a script."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Api", "api", "follow_the_ball"]

Answer = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Api:
    """A running server.

    Attributes:
        base_url: with its ``/v1``.
        requests: the bodies of the questions so far.
        headers: of the last request.
        together: the most questions that were open at a time.
    """

    base_url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    together: int = 0


def follow_the_ball(body: dict[str, Any]) -> dict[str, Any]:
    """A player of Catch who does what the last message says."""
    seen = str(body["messages"][-1]["content"])
    side = "left" if "to the left" in seen else "right" if "to the right" in seen else None
    name, arguments = ("move", {"direction": side}) if side else ("stay", {})
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@contextlib.contextmanager
def api(answer: Answer, *, at_once: int = 1, statuses: Callable[[int], int] = lambda number: 200) -> Iterator[Api]:
    """A server for the length of the block.

    Args:
        answer: the assistant's message to a question.
        at_once: the first answers wait until so many questions are open.
        statuses: the HTTP status of the n-th question; the message is left out unless it is 200.
    """
    state = Api()
    lock = threading.Lock()
    enough = threading.Event()
    asked = waiting = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            is_there = self.path == "/v1/models"
            self._reply(200 if is_there else 404, {"data": [{"id": "scripted"}]} if is_there else {})

        def do_POST(self) -> None:
            nonlocal asked, waiting
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                asked, waiting, number = asked + 1, waiting + 1, asked
                state.requests.append(body)
                state.headers = {name.lower(): value for name, value in self.headers.items()}
                state.together = max(state.together, waiting)
                if waiting >= at_once:
                    enough.set()
            enough.wait(10)
            status = statuses(number) if self.path == "/v1/chat/completions" else 404
            message = answer(body) if status == 200 else None
            with lock:
                waiting -= 1
            self._reply(status, {"choices": [{"message": message}]} if message else {"error": "not now"})

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def _reply(self, status: int, document: Any) -> None:
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join(10)
