"""The image of a Space's folder, and that of a new project: built from the folder alone, as the Hub does it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from echo_env import EchoAction, EchoEnv
from openenv_core import GenericEnvClient
from openenv_core.runtimes import DockerRuntime
from tests.containers.engine import LIMIT_S

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.timeout(LIMIT_S)


def openenv(*words: str | Path, cwd: Path) -> str:
    """Run a command, outside the repository; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "openenv_core.cli", *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture
def remove(engine: "DockerClient") -> Iterator[list[str]]:
    """Images that are removed in the end."""
    names: list[str] = []
    yield names
    for name in names:
        engine.images.remove(name, force=True)


def test_the_folder_of_a_space_builds_and_plays(engine: "DockerClient", tmp_path: Path, remove: list[str]) -> None:
    space = tmp_path / "space"
    openenv("push", "echo_env", "--repo-id", "ada/echo", "--dry-run", "--output", space, cwd=tmp_path)
    openenv("build", space, "--tag", "openenv-published-echo", cwd=tmp_path)
    remove.append("openenv-published-echo")
    with (
        DockerRuntime("openenv-published-echo") as runtime,
        EchoEnv(base_url=runtime.base_url) as env,
    ):
        env.reset(seed=7)
        assert env.step(EchoAction(message="hello")).reward == 0.5


def test_the_image_of_a_new_project_plays(engine: "DockerClient", tmp_path: Path, remove: list[str]) -> None:
    openenv("init", "number_env", cwd=tmp_path)
    openenv("build", tmp_path / "number_env", "--tag", "openenv-published-number", cwd=tmp_path)
    remove.append("openenv-published-number")
    with (
        DockerRuntime("openenv-published-number") as runtime,
        GenericEnvClient(base_url=runtime.base_url) as env,
    ):
        assert env.reset(seed=7).observation["guesses_left"] == 10
        assert env.step({"number": 50}).observation["hint"] in {"higher", "lower", "found"}


def test_an_image_is_validated_with_its_project(engine: "DockerClient", tmp_path: Path, remove: list[str]) -> None:
    openenv("init", "number_env", cwd=tmp_path)
    remove.append("openenv-number")
    told = openenv("validate", tmp_path / "number_env", "--image", "--episodes", "1", "--json", cwd=tmp_path)
    found = {each["name"]: each["severity"] for each in json.loads(told)["findings"]}
    assert found["image.build"] == found["image.start"] == found["image.plays"] == "ok"
    assert "error" not in found.values()
