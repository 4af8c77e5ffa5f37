"""``openenv build`` and ``openenv run``, as commands."""

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from echo_env import EchoAction, EchoEnv
from tests.containers.engine import LIMIT_S, Images, running
from tests.support.source import REPOSITORY

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.timeout(LIMIT_S)

_OPENENV = [sys.executable, "-m", "openenv_core.cli"]


def openenv(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_OPENENV, *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_run_until_it_is_told_to_stop(images: Images, engine: "DockerClient", end: signal.Signals) -> None:
    images("echo_env")
    command = [*_OPENENV, "run", "echo_env", "--port", "0", "-e", "OPENENV_TOKEN", "--json"]
    environ = {**os.environ, "OPENENV_TOKEN": "a-secret"}
    with running(command, env=environ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["client"] == "echo_env:EchoEnv"
        with EchoEnv(base_url=told["url"], token="a-secret") as env:
            assert env.step(EchoAction(message="hello")).reward == 0.5
        process.send_signal(end)
        assert process.wait(60) == 0
    assert told["container"] not in {each.id for each in engine.containers.list(all=True)}


def test_run_shows_a_program_that_runs(images: Images) -> None:
    image = images("echo_env")
    command = [*_OPENENV, "run", image, "--port", "0"]
    with running(command) as process:
        assert process.stdout is not None
        shown = []
        for line in process.stdout:
            shown.append(line)
            if line.startswith("log:"):
                break
        (page,) = (line.split()[1] for line in shown if line.startswith("page: "))
        assert httpx.get(page, timeout=30, trust_env=False).status_code == 200
        program = "".join(line[4:] for line in shown if line.startswith("    "))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert "Echo environment ready!" in done.stdout, done.stderr


def test_run_tells_why_a_container_ended(images: Images) -> None:
    done = openenv("run", images("echo_env"), "--port", "0", "-e", "MAX_CONCURRENT_ENVS=many")
    assert done.returncode == 1
    assert "MAX_CONCURRENT_ENVS='many'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["localhost:1/there-is-no-such-image"], "openenv build"),
        (["echo_env", "--variant", "purple"], "no variant 'purple'"),
        (["echo_env", "-e", "THERE_IS_NO_SUCH_VARIABLE"], "no such variable"),
        (["echo_env", "--network", "none"], "internal"),
    ],
)
def test_run_refuses_in_one_line(images: Images, arguments: list[str], told: str) -> None:
    images("echo_env")
    done = openenv("run", *arguments)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_build_a_variant(images: Images, engine: "DockerClient") -> None:
    images("textarena_env")
    done = openenv("build", "textarena_env", "--variant", "sudoku", "--tag", "openenv-test-sudoku", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    image = engine.images.get("openenv-test-sudoku")
    assert told["id"] == image.id
    assert told["size_mb"] == round(image.attrs["Size"] / 1e6)
    assert "TEXTARENA_ENV_ID=Sudoku-v0" in image.attrs["Config"]["Env"]
    engine.images.remove("openenv-test-sudoku")
