"""Clients of the public package at our server: whatever they see at their own server, they see at ours."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.processes import REPOSITORY
from benchmarks.worker import Worker

from .conftest import StartServer
from .servers import PEER_PLACE

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

Play = Callable[[str, str, str, str], list[Any]]

_PLAYER = Path(__file__).parent / "peer_player.py"
_WAYS = [("generic", "plain"), ("generic", "sync"), ("generic", "async"), ("typed", "sync"), ("typed", "async")]


@pytest.fixture(scope="module")
def play(peer: Path) -> Iterator[Play]:
    """Plays kind, manner, scene, URL with the public package."""
    worker = Worker([str(peer), str(_PLAYER)], {**os.environ, **PEER_PLACE}, REPOSITORY)

    def ask(kind: str, manner: str, scene: str, url: str) -> list[Any]:
        told: list[Any] = worker.ask("play", kind=kind, manner=manner, scene=scene, url=url)
        return told

    yield ask
    worker.stop()


@pytest.mark.parametrize(("kind", "manner"), _WAYS)
@pytest.mark.parametrize("scene", ["play", "validation", "exception"])
def test_a_client_of_the_public_package_sees_no_difference(
    play: Play, our_server: StartServer, peer_server: StartServer, kind: str, manner: str, scene: str
) -> None:
    at_ours = play(kind, manner, scene, our_server("app").base_url)
    assert at_ours == play(kind, manner, scene, peer_server("app").base_url)


def test_a_whole_play_comes_out_as_written(play: Play, our_server: StartServer) -> None:
    told = play("generic", "sync", "play", our_server("app").base_url)
    said = {"metadata": {}, "count": 0, "blob": None, "number": 0.0, "extra": None}
    assert told[0] == ["reset", [{**said, "echoed": "ready seed=7 difficulty=hard"}, None, False, None]]
    assert told[1] == ["step", [{**said, "echoed": "hihi", "count": 1}, 1, False, None]]
    assert told[2][1][3] == {"k": 1, "nested": {"list": [1, 2.5, None, True]}}
    assert told[5] == ["state", {"episode_id": "e1", "step_count": 4, "difficulty": "hard"}]
    assert told[6][1][1:3] == [-1.5, True]
    assert told[8] == ["state", {"episode_id": "unnamed", "step_count": 0, "difficulty": "easy"}]


def test_errors_come_out_as_written(play: Play, our_server: StartServer) -> None:
    validation = play("generic", "sync", "validation", our_server("app").base_url)
    exception = play("generic", "sync", "exception", our_server("app").base_url)
    refused = ["error", ["RuntimeError"], "Server error: Invalid message (code: VALIDATION_ERROR)"]
    assert validation[1:3] == [refused, refused]
    assert validation[4] == ["state", {"episode_id": "unnamed", "step_count": 1, "difficulty": "easy"}]
    assert exception[0] == ["error", ["RuntimeError"], "Server error: reset exploded (code: EXECUTION_ERROR)"]
    assert exception[2] == ["error", ["RuntimeError"], "Server error: step exploded (code: EXECUTION_ERROR)"]
    assert exception[4] == ["state", {"episode_id": "unnamed", "step_count": 1, "difficulty": "easy"}]


def test_a_full_server_refuses_and_then_takes_the_next(
    play: Play, our_server: StartServer, peer_server: StartServer
) -> None:
    at_ours = play("generic", "plain", "crowd", our_server("plain_app").base_url)
    assert at_ours == play("generic", "plain", "crowd", peer_server("plain_app").base_url)
    message = "Server at capacity: 1/1 sessions active. Cannot accept new connections."
    assert at_ours[1] == ["error", ["RuntimeError"], f"Server error: {message} (code: CAPACITY_REACHED)"]
    assert [what for what, *_ in at_ours] == ["first", "error", "first", "second"]


@pytest.mark.parametrize(("kind", "manner"), [("echo", "sync"), ("echo", "async"), ("generic", "plain")])
def test_the_echo_server_serves_a_client_of_the_public_package(
    play: Play, our_server: StartServer, kind: str, manner: str
) -> None:
    told = play(kind, manner, "echo", our_server("echo_env_server.app:app").base_url)
    # A typed client of the public package keeps reward and end in the observation too.
    rest = {"metadata": {}} if kind == "generic" else {"metadata": {}, "done": False}
    spoken = [(text, len(text), round(len(text) * 0.1, 10)) for text in ("hello", "", "é ☃")]
    echoed = [
        {"echoed_message": text, "message_length": length, **rest, **({} if kind == "generic" else {"reward": reward})}
        for text, length, reward in spoken
    ]
    rewards = [reward for *_, reward in spoken]
    assert told[0][1][0]["echoed_message"] == "Echo environment ready!"
    assert [[step[1][0], step[1][1]] for step in (told[1], told[2], told[5])] == list(
        map(list, zip(echoed, rewards, strict=True))
    )
    assert told[3] == ["state", {"episode_id": "e1", "step_count": 2}]
    assert told[4] == ["error", ["RuntimeError"], "Server error: Invalid message (code: VALIDATION_ERROR)"]
    # Our own environments refuse what they do not know; the public package drops it, and a misspelt seed with it.
    unknown = "reset has no option 'unknown'; it knows episode_id, seed"
    assert told[6] == ["error", ["RuntimeError"], f"Server error: {unknown} (code: VALIDATION_ERROR)"]
    assert told[7] == ["state", {"episode_id": "e1", "step_count": 3}]
