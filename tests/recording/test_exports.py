"""Exports, read by the libraries that they are made for."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openenv_core.client import GenericEnvClient
from openenv_core.errors import ConfigurationError
from openenv_core.recording import Note, read_recording
from openenv_core.recording import parquet as parquet_module
from openenv_core.recording.conversations import conversation_of, write_conversations
from openenv_core.recording.parquet import write_parquet
from openenv_core.recording.shelf import recordings_in
from openenv_core.recording.texts import observation_text
from tests.recording.test_format import STARTED, reset, step, written
from tests.recording.worlds import Painter, serve_options
from tests.server.tooled import Shop
from tests.support.serving import serving
from tests.support.source import REPOSITORY
from tests.training.running import TrlMissingError, source_paths, trl_python


def run(script: str, *arguments: Any) -> str:
    """Run a script of this folder with the Python that has the libraries; what it printed."""
    try:
        python = trl_python()
    except TrlMissingError as error:
        pytest.fail(str(error), pytrace=False)
    done = subprocess.run(
        [str(python), "-m", f"tests.recording.{script}", *map(str, arguments)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": source_paths(), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.training
def test_a_data_set_and_conversations_are_read_by_datasets(tmp_path: Path) -> None:
    folder = tmp_path / "episodes"
    with serving(Painter, limits=serve_options(folder)) as served, GenericEnvClient(served.base_url) as client:
        for seed in (1, 2):
            client.reset(seed=seed)
            client.step({"shade": 100 + seed})
            client.step({"shade": 0, "do": "finish"})
    recordings = [read_recording(path) for path in recordings_in(folder)]
    out, chats = tmp_path / "out", tmp_path / "chats.jsonl"
    assert write_parquet(recordings, out) == 6
    assert write_conversations(recordings, chats, prompt="Paint.") == 2
    found = json.loads(run("read_exports", out, chats, tmp_path / "cache").splitlines()[-1])
    assert [frame["kind"] for frame in found["frames"]] == ["reset", "step", "step"] * 2
    painted = found["frames"][4]
    assert (painted["seed"], painted["reward"], painted["text"]) == (2, 0.25, "square 1")
    assert painted["pictures"] == [[8, 8, 102]]
    assert json.loads(painted["action"])["shade"] == 102
    assert [chat["reward"] for chat in found["chats"]] == [1.25, 1.25]
    assert [message["role"] for message in found["chats"][0]["messages"]] == ["user", *["assistant", "tool"] * 2]


@pytest.mark.training
def test_a_conversation_is_rendered_by_a_template_of_trl(tmp_path: Path) -> None:
    folder, chats = tmp_path / "episodes", tmp_path / "chats.jsonl"
    with serving(Painter, limits=serve_options(folder)) as served, GenericEnvClient(served.base_url) as client:
        client.reset(title="Begin")
        client.step({"shade": 5, "do": "finish"})
    write_conversations(map(read_recording, recordings_in(folder)), chats, prompt="Paint.")
    text = json.loads(run("rendered_chat", chats).splitlines()[-1])
    assert '"name": "step"' in text
    assert "Say how light the next picture is." in text
    assert "Paint.\n\nBegin<|im_end|>" in text
    assert '<tool_call>\n{"name": "step", "arguments": {"shade": 5, "do": "finish"}}\n</tool_call><|im_end|>' in text
    assert "<tool_response>\nsquare 1\n</tool_response>" in text


def test_tools_of_an_environment_are_called_by_their_names(tmp_path: Path) -> None:
    with serving(Shop, limits=serve_options(tmp_path)) as served, GenericEnvClient(served.base_url) as client:
        client.reset()
        client.step({"type": "call_tool", "tool_name": "buy", "arguments": {"thing": "bread", "price": 2}})
    [recording] = map(read_recording, recordings_in(tmp_path))
    row = conversation_of(recording)
    assert row is not None
    assert [offered["function"]["name"] for offered in row["tools"]] == ["balance", "buy", "silent"]
    said, answered = row["messages"][1:]
    assert said["tool_calls"][0]["function"] == {"name": "buy", "arguments": {"thing": "bread", "price": 2}}
    assert answered["name"] == "buy"


def test_an_error_is_what_the_tool_answers_and_no_step_is_no_conversation(tmp_path: Path) -> None:
    failed = Note("error", STARTED, 0.0, "step", b'{"n":1}', b'"no such move"', code="EXECUTION_ERROR")
    row = conversation_of(read_recording(written(tmp_path / "one", reset(), failed, step(2))))
    assert row is not None
    told = [message["content"] for message in row["messages"]]
    assert told == ['{"seen": 0}', "", '{"error": "no such move"}', "", '{"seen": 2}']
    assert row["tools"][0]["function"]["parameters"]["properties"] == {"n": {"type": "integer"}}
    assert conversation_of(read_recording(written(tmp_path / "two", reset()))) is None


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        ({"text": "board", "info_state": [1.0], "legal_actions": [0]}, "board"),
        ({"delta": "", "messages": [{"content": "all"}], "prompt": "p"}, "all"),
        ({"delta": "new", "messages": [], "prompt": "p"}, "new"),
        ({"hint": "higher", "tries": 3, "done": False, "reward": None, "metadata": {}}, "higher"),
        ({"a": "x", "b": "y", "frame": {"$picture": "1-0.png"}}, '{"a": "x", "b": "y"}'),
        ({"n": 3, "reward": 1.0}, '{"n": 3}'),
    ],
)
def test_the_text_of_an_observation(observation: dict[str, Any], text: str) -> None:
    assert observation_text(observation) == text
    assert observation_text({**observation, "said": "this"}, "said") == "this"


def test_without_the_library_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(parquet_module.importlib, "import_module", missing)  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match=r"openenv-core\[export\]"):
        write_parquet([], tmp_path)
