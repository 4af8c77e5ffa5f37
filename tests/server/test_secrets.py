"""A canary for a token: a real server, everything that anybody may do to it, and no trace of the token anywhere."""

import base64
import json
import os
import sys
from pathlib import Path

import httpx
import pytest

from benchmarks.processes import ServerProcess, running, source_path
from openenv_core.client import GenericEnvClient
from openenv_core.errors import EnvironmentFailedError, UnauthorizedError

CANARY = "canary-0b7e93f2a1"
OTHER = "canary-of-another-service"

COMMAND = [
    *(sys.executable, "-m", "openenv_core.cli", "serve", "tests.server.leaky:Leaky"),
    *("--port", "{port}", "--log-level", "debug"),
]


def command_lines_of(pid: int) -> str:
    """The command lines of a process and of all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return " ".join([own, *(command_lines_of(int(child)) for child in children)])


def play(server: ServerProcess) -> list[str]:
    """Everything that may go wrong with a token; returns what clients were told."""
    url, told = server.base_url, []
    for given in (f"Bearer {CANARY}", f"Bearer {CANARY}x", "Basic " + base64.b64encode(CANARY.encode()).decode()):
        for path in ("/reset", "/step?token=" + CANARY, "/nowhere"):
            body = {"action": {"text": "x", "fail": "environ"}}
            told.append(httpx.post(url + path, json=body, headers={"Authorization": given}, trust_env=False).text)
    with GenericEnvClient(url, token=CANARY) as client:
        client.reset()
        with pytest.raises(EnvironmentFailedError) as failed:
            client.step({"fail": "environ"})
        told.append(str(failed.value))
    with pytest.raises(UnauthorizedError) as refused:
        GenericEnvClient(url, token=CANARY + "x").reset()
    told.append(str(refused.value))
    return told


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_the_token_is_in_no_log_no_reply_and_no_list_of_processes(log_format: str) -> None:
    environment = {
        "PYTHONPATH": os.pathsep.join([source_path(), str(Path.cwd())]),
        "OPENENV_TOKEN": CANARY,
        "SOME_SERVICE_API_KEY": OTHER,
        "OPENENV_LOG_FORMAT": log_format,
    }
    with running(COMMAND, environment=environment) as server:
        told = play(server)
        processes = command_lines_of(server.process.pid)
        server.stop()
        log = server.log.read_text()
    assert "the environment raised" in log
    assert "[redacted]" in log
    for text in (log, processes, *told):
        assert CANARY not in text
        assert OTHER not in text
        assert base64.b64encode(CANARY.encode()).decode() not in text
    if log_format == "json":
        lines = [json.loads(line) for line in log.splitlines()]
        raised = [line for line in lines if "environment raised" in line["message"]]
        assert {"session", "episode", "error_id", "exception"} <= set(raised[-1])
        assert "\x1b" not in log
    else:
        assert "\x1b" not in log


def test_a_token_that_cannot_work_is_refused_without_being_shown() -> None:
    environment = {
        "PYTHONPATH": os.pathsep.join([source_path(), str(Path.cwd())]),
        "OPENENV_TOKEN": f"{CANARY} {OTHER}",
    }
    with pytest.raises(RuntimeError, match="OPENENV_TOKEN") as ended, running(COMMAND, environment=environment):
        pass
    assert CANARY not in str(ended.value)


@pytest.mark.parametrize(
    ("host", "token", "warns"), [("127.0.0.1", "", False), ("0.0.0.0", "", True), ("0.0.0.0", CANARY, False)]
)
def test_a_server_that_is_open_to_the_world_says_so_once(host: str, token: str, warns: bool) -> None:
    environment = {"PYTHONPATH": os.pathsep.join([source_path(), str(Path.cwd())]), "OPENENV_TOKEN": token}
    with running([*COMMAND, "--host", host], environment=environment) as server:
        httpx.get(f"{server.base_url}/health", trust_env=False)
        named = httpx.get(f"{server.base_url}/health", headers={"Host": "my.test"}, trust_env=False)
        server.stop()
        assert server.log.read_text().count("ANYBODY WHO REACHES") == warns
    assert named.status_code == (200 if host == "0.0.0.0" else 421)
