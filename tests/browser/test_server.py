"""Over the wire: a real server, the typed client, and what clients of the public protocol get."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy
import pytest
from websockets.sync.client import connect

from benchmarks.processes import ServerProcess, running, source_path
from browsergym_env import BrowserGymAction, BrowserGymEnv
from browsergym_env_server import demo, spec
from openenv_core.errors import EpisodeOverError, SessionLostError, UnknownResetOptionError, ValidationFailedError
from tests.support.waiting import eventually

from .processes import browsers, descendants, kept_folders

_COMMAND = (sys.executable, "-m", "uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "warning")
_APP = "browsergym_env_server.app:app"
_LIMIT_S = 40.0


@contextmanager
def _serving() -> Iterator[ServerProcess]:
    with running([*_COMMAND, _APP], environment={"PYTHONPATH": source_path()}) as process:
        yield process


@pytest.fixture(scope="module")
def server(installed_browser: str) -> Iterator[ServerProcess]:
    with _serving() as process:
        yield process


@pytest.fixture
def env(server: ServerProcess) -> Iterator[BrowserGymEnv]:
    with BrowserGymEnv(base_url=server.base_url, message_timeout_s=_LIMIT_S) as client:
        yield client


def _act(env: BrowserGymEnv, action: str, **options: Any) -> Any:
    return env.step(BrowserGymAction(action_str=action), **options)


def test_an_episode(env: BrowserGymEnv) -> None:
    result = env.reset(seed=0, task_name="click-test")
    assert (result.reward, result.done) == (None, False)
    assert result.observation.goal == "Click the button."
    assert result.observation.screenshot is not None
    assert numpy.array(result.observation.screenshot, dtype=numpy.uint8).shape == (321, 498, 3)
    result = _act(env, "click('13')")
    assert (result.reward, result.done, result.terminated) == (1.0, True, True)
    assert (result.observation.success, result.observation.raw_reward) == (True, 1.0)
    state = env.state()
    assert (state.benchmark, state.task_id, state.step_count, state.cum_reward) == (
        "miniwob",
        "miniwob.click-test",
        1,
        1,
    )
    with pytest.raises(EpisodeOverError):
        _act(env, "click('13')")
    assert env.reset(seed=0).observation.done is False


def test_refusals_leave_the_session_alive(env: BrowserGymEnv) -> None:
    env.reset(seed=0, max_steps=7)
    session = env.session_id
    with pytest.raises(UnknownResetOptionError, match="task_name"):
        env.reset(task="click-test")
    with pytest.raises(ValidationFailedError, match="click-test"):
        env.reset(task_name="click-tst")
    for options in ({"observe": ["sound"]}, {"max_steps": 0}, {"seed": -1}, {"seed": 2**32}):
        with pytest.raises(ValidationFailedError):
            env.reset(**options)
    assert env.reset(seed=0).observation.goal
    assert env.session_id == session


def test_a_client_of_the_public_protocol_gets_nested_lists(server: ServerProcess) -> None:
    def ask(message: dict[str, Any]) -> dict[str, Any]:
        socket.send(json.dumps(message))
        data: dict[str, Any] = json.loads(socket.recv(timeout=_LIMIT_S))["data"]
        return data

    with connect(f"{server.websocket_url}/ws", max_size=None) as socket:
        told = ask({"type": "reset", "data": {"seed": 0, "task_name": "click-test"}})["observation"]
        pixels = numpy.array(told["screenshot"], dtype=numpy.uint8)
        assert pixels.shape == (321, 498, 3)
        assert pixels.std() > 1
        told = ask({"type": "step", "data": {"action_str": "click('999')"}})
        assert told["observation"]["error"] == 'ValueError: Could not find element with bid "999"'
        assert (told["observation"]["last_action_error"], told["reward"], told["done"]) == (True, 0.0, False)
        told = ask({"type": "step", "data": {"action_str": "click('13')"}})
        assert (told["reward"], told["done"]) == (1.0, True)


def test_tasks_are_listed(server: ServerProcess) -> None:
    split = httpx.get(f"{server.base_url}/browsergym_env/splits").json()[0]["name"]
    listed = httpx.post(f"{server.base_url}/browsergym_env/tasks", json={"split": split}).json()["tasks"]
    assert {"task_name": "login-user"} in listed
    assert len(listed) == 125


def test_a_deadline_costs_the_session_alone(server: ServerProcess, env: BrowserGymEnv) -> None:
    with BrowserGymEnv(base_url=server.base_url, message_timeout_s=_LIMIT_S) as other:
        other.reset(seed=0)
        env.reset(seed=0)
        with pytest.raises(SessionLostError) as lost:
            _act(env, "noop(8000)", timeout_s=0.5)
        assert lost.value.reason == "step_deadline"
        assert _act(other, "click('13')").reward == 1.0
    env.reset(seed=0)
    assert _act(env, "click('13')").reward == 1.0


def test_a_browser_that_dies_is_told_and_replaced(server: ServerProcess, env: BrowserGymEnv) -> None:
    env.reset(seed=0)
    (browser,) = browsers(server.process.pid)
    os.kill(browser, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(SessionLostError) as lost:
            _act(env, "noop(0)")
        assert lost.value.reason == "env_crashed"
    env.reset(seed=0)
    assert _act(env, "click('13')").reward == 1.0
    assert browsers(server.process.pid) != {browser}


def test_sampled_actions_are_understood(env: BrowserGymEnv) -> None:
    random = Random(1)
    assert spec.sample_action is not None
    for task in ("click-button", "enter-text", "search-engine"):
        observation = env.reset(seed=1, task_name=task, observe=["axtree"]).observation
        for _ in range(3):
            if observation.done:
                break
            observation = env.step(spec.sample_action(observation, random)).observation
            assert not observation.error.startswith(("NameError", "TypeError", "ValueError"))


def test_the_demonstration_solves_its_tasks(env: BrowserGymEnv, capsys: pytest.CaptureFixture[str]) -> None:
    results = list(demo.play(env))
    ends = [result for result in results if result.done]
    assert [result.observation.success for result in ends] == [True] * len(demo.SOLVERS)
    folder = Path(capsys.readouterr().err.strip().rpartition(" ")[2])
    pictures = sorted(folder.glob("*.png"))
    assert len(pictures) == len(results)
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()
    folder.rmdir()


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL], ids=lambda way: way.name)
def test_nothing_outlives_the_server(installed_browser: str, way: signal.Signals) -> None:
    before = kept_folders()
    with _serving() as server:
        with BrowserGymEnv(base_url=server.base_url, message_timeout_s=_LIMIT_S) as env:
            env.reset(seed=0)
            below = descendants(server.process.pid)
            assert browsers(server.process.pid)
            server.process.send_signal(way)
            server.process.wait(_LIMIT_S)
        eventually(lambda: not any(_runs(pid) for pid in below))
        eventually(lambda: kept_folders() <= before)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
