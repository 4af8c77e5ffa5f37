"""Real servers write down what is played on them."""

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.processes import running, source_path
from browsergym_env import BrowserGymAction, BrowserGymEnv
from openenv_core.client import GenericEnvClient
from openenv_core.errors import EnvironmentFailedError, OpenEnvError
from openenv_core.recording import Recording, read_recording
from openenv_core.recording.lines import ErrorLine, ResetLine, StepLine
from openenv_core.recording.reader import pictures_in, with_inline_pictures
from openenv_core.recording.shelf import recordings_in
from tests.recording.worlds import SECRET, Painter, png, serve_options
from tests.support.doors import DOORS
from tests.support.serving import serving
from tests.support.waiting import eventually
from textarena_env_server.players import WordleSolver

SERVE = [sys.executable, "-m", "openenv_core.cli", "serve"]


def read(folder: Path) -> list[Recording]:
    """All episodes of a folder."""
    return [read_recording(path) for path in recordings_in(folder)]


@pytest.mark.parametrize("door", DOORS)
def test_an_episode_is_written_as_its_client_saw_it_whatever_door_it_came_by(tmp_path: Path, door: str) -> None:
    with serving(Painter, limits=serve_options(tmp_path)) as served, DOORS[door](served) as player:
        first = player.reset(seed=7, title="a\x1b[31mb")
        told = player.step({"shade": 9})
        player.state()
        with pytest.raises(OpenEnvError):
            player.step({"shade": 1, "do": "fail"})
        player.step({"shade": 2, "do": "finish"})
        session = next(iter(served.gateway.manager.sessions.values()))
        episode_id = session.episode.episode_id
        eventually(lambda: recordings_in(tmp_path) and read(tmp_path)[0].end)
    [found] = read(tmp_path)
    head = found.episode
    assert (head.environment, head.seed, head.options["title"]) == ("toy", 7, "a\x1b[31mb")
    assert (head.session, head.episode_id, head.number) == (session.id[:12], episode_id, 1)
    assert [frame.line.type for frame in found.frames] == ["reset", "step", "state", "error", "step"]
    [begin, paint, _, failure, last] = [frame.line for frame in found.frames]
    assert isinstance(begin, ResetLine)
    assert begin.observation["caption"] == first["caption"]
    assert isinstance(paint, StepLine)
    assert paint.action["shade"] == 9
    assert (paint.reward, paint.done) == (told["reward"], False)
    assert isinstance(failure, ErrorLine)
    assert (failure.call, failure.code, failure.message) == ("step", "EXECUTION_ERROR", "it went wrong")
    assert isinstance(last, StepLine)
    assert (last.reward, last.done, last.success) == (1.0, True, True)
    assert found.end is not None
    assert (found.end.reason, found.end.steps, found.end.reward) == ("terminated", 2, 1.25)
    [picture] = pictures_in(found.path, paint.observation)
    assert picture.read_bytes() == png(9)
    inlined = with_inline_pictures(found.path, paint.observation)
    if door == "v2":
        assert inlined == told
    text = found.path.read_text()
    assert SECRET not in text
    assert session.id not in text
    assert session.token not in text


def test_every_way_out_of_an_episode_is_told(tmp_path: Path) -> None:
    with serving(Painter, limits=serve_options(tmp_path)) as served:
        with GenericEnvClient(served.base_url) as client:
            client.reset()
            client.step({"shade": 1})
            client.reset()
            client.step({"shade": 1, "do": "finish"})
            client.reset()
        kept = GenericEnvClient(served.base_url)
        kept.reset()
    assert [found.end.reason for found in read(tmp_path) if found.end] == ["reset", "terminated", "closed", "shutdown"]
    assert [found.episode.number for found in read(tmp_path)] == [1, 2, 3, 1]
    kept.close()


def test_where_it_is_asked_for_only_who_asks_is_recorded(tmp_path: Path) -> None:
    with serving(Painter, limits=serve_options(tmp_path, record_sessions="asked")) as served:
        with GenericEnvClient(served.base_url) as silent:
            silent.reset(title="silent")
            assert [session.observer for session in served.gateway.manager.sessions.values()] == [None]
        with GenericEnvClient(served.base_url, headers={"X-OpenEnv-Record": "1"}) as asking:
            asking.reset(title="by header")
        with httpx.Client(base_url=served.base_url, trust_env=False) as http:
            http.post("/reset?record=1", json={"title": "by query"})
    assert [found.episode.options["title"] for found in read(tmp_path)] == ["by header", "by query"]


def test_without_the_setting_nobody_is_attached_and_nothing_is_written(tmp_path: Path) -> None:
    with (
        serving(Painter) as served,
        GenericEnvClient(served.base_url, headers={"X-OpenEnv-Record": "1"}) as client,
    ):
        client.reset()
        assert served.gateway.on_opened is None
        assert [session.observer for session in served.gateway.manager.sessions.values()] == [None]
        assert "openenv_record" not in httpx.get(f"{served.base_url}/metrics", trust_env=False).text
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_costs_no_step_and_shows_in_the_metrics(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    with serving(Painter, limits=serve_options(taken)) as served, GenericEnvClient(served.base_url) as client:
        taken.rmdir()
        taken.write_text("")
        client.reset()
        assert client.step({"shade": 1}).reward == 0.25

        def metrics() -> str:
            return httpx.get(f"{served.base_url}/metrics", trust_env=False).text

        eventually(lambda: 'openenv_recording_errors_total{error="EEXIST"} 1.0' in metrics())
        eventually(lambda: 'openenv_recording_lost_frames_total{reason="disk"} 2.0' in metrics())
        assert client.step({"shade": 1, "do": "finish"}).done


def test_no_token_is_written_and_no_secret_that_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "canary-5521-token"
    monkeypatch.setattr(Painter, "leaked", token)
    with (
        serving(Painter, limits=serve_options(tmp_path, token=token)) as served,
        GenericEnvClient(served.base_url, token=token) as client,
    ):
        client.reset()
        client.step({"shade": 1, "do": "leak"})
        with pytest.raises(EnvironmentFailedError):
            client.step({"shade": 1, "do": "fail"})
    [found] = read(tmp_path)
    assert len(found.frames) == 3
    assert token not in found.path.read_text()


def serve(target: str, folder: Path, **variables: str) -> Any:
    """A server process that records."""
    environment = {"PYTHONPATH": os.pathsep.join([source_path(), str(Path.cwd())]), **variables}
    return running([*SERVE, target, "--port", "{port}", "--record", str(folder)], environment=environment)


def test_wordle_by_the_command(tmp_path: Path) -> None:
    solver = WordleSolver()
    with serve("textarena_env_server:spec", tmp_path) as server, GenericEnvClient(server.base_url) as client:
        result = client.reset(seed=3)
        while not result.done:
            guess = solver.guess()
            result = client.step({"message": f"[{guess}]"})
            solver.learn(guess, result.observation["feedback"])
        server.stop()
    [found] = read(tmp_path)
    assert found.end is not None
    assert (found.end.reason, found.success, found.reward) == ("terminated", True, 1.0)
    assert found.episode.seed == 3
    assert found.episode.version
    assert found.frames[-1].observation is not None
    assert found.frames[-1].observation["feedback"] == "GGGGG"


def test_what_a_server_leaves_that_is_killed_while_it_writes(tmp_path: Path) -> None:
    def play(url: str) -> None:
        with contextlib.suppress(OpenEnvError), GenericEnvClient(url, reconnect_timeout_s=0.1) as client:
            client.reset()
            while True:
                client.step({"shade": 1, "do": "waste"})

    with serve("tests.recording.worlds:Painter", tmp_path) as server:
        players = [threading.Thread(target=play, args=(server.base_url,)) for _ in range(3)]
        for player in players:
            player.start()
        eventually(lambda: len([path for path in recordings_in(tmp_path) if path.stat().st_size > 200_000]) == 3)
        server.kill()
        for player in players:
            player.join(30)
    found = read(tmp_path)
    assert len(found) == 3
    for recording in found:
        assert recording.end is None
        assert recording.damaged == []
        assert [frame.index for frame in recording.frames] == list(range(len(recording.frames)))
        assert recording.steps > 10


def test_the_pictures_of_a_browser(tmp_path: Path) -> None:
    with serve("browsergym_env_server:spec", tmp_path) as server:
        with BrowserGymEnv(server.base_url, message_timeout_s=40) as env:
            shown = env.reset(seed=5, task_name="click-test").observation
            env.step(BrowserGymAction(action_str="noop()"))
        eventually(lambda: recordings_in(tmp_path) and read(tmp_path)[0].end)
    [found] = read(tmp_path)
    observation = found.frames[0].observation
    assert observation is not None
    pictures = list(pictures_in(found.path, observation))
    assert pictures
    assert shown.screenshot is not None
    assert shown.screenshot.png in [file.read_bytes() for file in pictures]
    assert json.dumps(observation).count("iVBORw0KGgo") == 0
