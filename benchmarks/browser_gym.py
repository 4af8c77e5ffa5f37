"""BrowserGym itself, in the environment in which it is installed: the other side of ``benchmarks.browser``.

It is spared what would only slow it down: the pauses before actions and observations, and the second browser that shows
a chat. Its sessions take turns, since its Playwright is bound to one thread.
"""

import http.server
import os
import threading
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.browser_actions import ACTIONS, TASK, own_memory
from benchmarks.worker import serve

__all__: list[str] = []

_environments: list[Any] = []


class _Chat:
    """Keeps what is said, and shows it to nobody."""

    def __init__(self, **_: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.recording_start_time = None

    def add_message(self, role: str, msg: str) -> None:
        self.messages.append({"role": role, "message": msg, "timestamp": time.time()})

    def wait_for_user_message(self) -> None:
        """Nobody answers."""

    def close(self) -> None:
        """Nothing is open."""


class _Pages(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def start(browser: str) -> None:
    """Serve the pages and get the library ready."""
    vars(import_module("browsergym.core.env"))["Chat"] = _Chat
    import_module("browsergym.miniwob")
    found = find_spec("miniwob")
    assert found is not None
    assert found.submodule_search_locations
    pages = f"{next(iter(found.submodule_search_locations))}/html"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, directory=pages))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["MINIWOB_URL"] = f"http://127.0.0.1:{server.server_port}/miniwob/"
    os.environ["BENCHMARK_BROWSER"] = browser


def open_sessions(sessions: int) -> None:
    """Open sessions, each with a first reset."""
    gymnasium = import_module("gymnasium")
    action_set = import_module("browsergym.core.action.highlevel").HighLevelActionSet
    actions = action_set(subsets=["chat", "infeas", "bid", "coord", "nav", "tab"], strict=False)
    while len(_environments) < sessions:
        made = gymnasium.make(
            f"browsergym/miniwob.{TASK}",
            pw_chromium_kwargs={"executable_path": os.environ["BENCHMARK_BROWSER"]},
            slow_mo=0,
            pre_observation_delay=0,
            action_mapping=actions.to_python_code,
        ).unwrapped
        made.reset(seed=len(_environments))
        _environments.append(made)


def close() -> None:
    """Close them all."""
    while _environments:
        _environments.pop().close()


def reset(seed: int) -> float:
    """Seconds of one reset of the first session."""
    begin = time.perf_counter()
    _text(_environments[0].reset(seed=seed)[0])
    return time.perf_counter() - begin


def step(turn: int, session: int = 0) -> float:
    """Seconds of one step."""
    begin = time.perf_counter()
    observation = _environments[session].step(ACTIONS[turn % len(ACTIONS)])[0]
    _text(observation)
    spent = time.perf_counter() - begin
    assert not observation["last_action_error"], observation["last_action_error"]
    return spent


def rate(seconds: float) -> float:
    """Steps per second of all sessions, in turn."""
    count, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        for session in range(len(_environments)):
            step(count, session)
            count += 1
    return count / (time.perf_counter() - begin)


def _text(observation: Any) -> str:
    text: str = import_module("browsergym.utils.obs").flatten_axtree_to_str(observation["axtree_object"])
    return text


if __name__ == "__main__":
    tasks: dict[str, Any] = {"start": start, "open": open_sessions, "close": close, "reset": reset, "step": step}
    serve({**tasks, "rate": rate, "memory": own_memory})
