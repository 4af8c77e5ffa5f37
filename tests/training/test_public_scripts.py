"""The exact calls of TRL's public example scripts, on our clients and servers: blocking, without ``with``."""

import importlib
from typing import Any

import pytest

from echo_env import EchoEnv
from echo_env.models import EchoAction
from openenv_core.errors import ConfigurationError
from openenv_core.runtimes.process import ProcessRuntime
from openspiel_env import OpenSpielEnv
from openspiel_env.models import OpenSpielAction
from textarena_env import TextArenaAction, TextArenaEnv


def test_echo() -> None:
    with ProcessRuntime("echo_env_server:spec") as runtime:
        client = EchoEnv(base_url=runtime.base_url)
        for _ in range(2):  # the script never resets
            result = client.step(EchoAction(message="Hello"))
            assert result.observation.echoed_message == "Hello"
            assert result.observation.reward == 0.5


def test_catch() -> None:
    with ProcessRuntime("openspiel_env_server:spec") as runtime:
        client = OpenSpielEnv(base_url=runtime.base_url)
        for _ in range(2):
            result = client.reset()
            assert len(result.observation.info_state) == 50
            while not result.observation.done:
                result = client.step(OpenSpielAction(action_id=1, game_name="catch"))
            assert result.reward in (1.0, -1.0)


def test_wordle_reads_what_is_new_off_the_whole_transcript() -> None:
    with ProcessRuntime("textarena_env_server:spec", env_vars={"TEXTARENA_ENV_ID": "Wordle-v0"}) as runtime:
        client = TextArenaEnv(base_url=runtime.base_url)
        before = client.reset().observation.messages[0].content
        result = client.step(TextArenaAction(message="[crane]"))
        after = result.observation.messages[0].content
        assert after.startswith(before)
        assert "C R A N E" in after[len(before) :]
        refused = client.step(TextArenaAction(message="[zzzzz]")).observation.messages[0].content
        assert "You attempted an invalid move" in refused[len(after) :]
        assert not result.done


def test_sudoku_finds_its_board() -> None:
    with ProcessRuntime("textarena_env_server:spec", env_vars={"TEXTARENA_ENV_ID": "Sudoku-v0"}) as runtime:
        client = TextArenaEnv(base_url=runtime.base_url)
        text = client.reset().observation.messages[0].content
        assert all(mark in text for mark in ("R1", "R9", "|"))


def test_multi_env_closes_each_client_and_makes_another() -> None:
    with ProcessRuntime("openspiel_env_server:spec", arguments=["--max-sessions", "1"]) as runtime:
        client: Any = None
        for _ in range(3):
            if client is not None:
                client.close()
            client = OpenSpielEnv(base_url=runtime.base_url)
            assert client.reset().observation.legal_actions == [0, 1, 2]


def test_the_import_path_of_the_public_package(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = importlib.import_module("openenv.core.containers.runtime")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(ConfigurationError, match="no container engine answers at unix:///nonexistent"):
        runtime.LocalDockerProvider()
