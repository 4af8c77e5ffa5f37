"""A Space's folder in use: pip installs its client from the folder, or from the Hub; its server is installed in it."""

import json
import shutil
from pathlib import Path

import pytest

from openenv_core.packaging.wheel import write_core_wheel
from openenv_core.runtimes.process import ProcessRuntime
from tests.packaging.conftest import Run
from tests.packaging.environments import Environment
from tests.support.fake_hub import FakeHub

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]

PLAY = """
import sys
from importlib.util import find_spec

import echo_env
import openenv_core

assert find_spec("echo_env_server") is None, "the server came along"
with echo_env.EchoEnv(base_url=sys.argv[1]) as env:
    env.reset(seed=7)
    print(env.step(echo_env.EchoAction(message="hello")).reward)
print(openenv_core.__file__)
"""


@pytest.fixture
def empty(tmp_path: Path) -> Environment:
    """An environment in which nothing of ours is installed."""
    return Environment(tmp_path / "empty")


def play(environment: Environment, url: str, cwd: Path) -> None:
    """Play with what is installed, which must not be this checkout's."""
    reward, path = environment.run(environment.python, "-c", PLAY, url, cwd=cwd).split()
    assert reward == "0.5"
    assert Path(path).is_relative_to(environment.bin.parent)


def test_the_folder_gives_the_client_and_its_framework(
    openenv: Run, hub: FakeHub, empty: Environment, tmp_path: Path
) -> None:
    # The framework comes from where the Space has it: its wheel is there after a push.
    assert openenv("push", "echo_env").code == 0
    assert openenv("push", "echo_env", "--dry-run", "--output", tmp_path / "space").code == 0
    empty.install_with_requirements(tmp_path / "space")
    with ProcessRuntime("echo_env") as server:
        play(empty, server.base_url, tmp_path)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_space_gives_the_client_and_its_framework(
    openenv: Run, hub: FakeHub, empty: Environment, tmp_path: Path
) -> None:
    assert openenv("push", "echo_env").code == 0
    empty.install_with_requirements(f"git+{hub.url}/spaces/ada/echo_env")
    with ProcessRuntime("echo_env") as server:
        play(empty, server.base_url, tmp_path)


def test_the_folder_installs_its_server_as_its_image_does(
    openenv: Run, hub: FakeHub, empty: Environment, tmp_path: Path
) -> None:
    space = tmp_path / "space"
    assert openenv("push", "echo_env", "--dry-run", "--output", space).code == 0
    empty.install_with_requirements("--requirement", "requirements.txt", cwd=space)
    empty.install(space, space / "server")
    report = json.loads(empty.run("openenv", "check", "echo_env", "--json", "--episodes", "1", cwd=tmp_path))
    assert report["ok"], report
    found = empty.run(empty.python, "-c", "import echo_env_server as e; print(e.__file__)", cwd=tmp_path)
    assert Path(found.strip()).is_relative_to(empty.bin.parent)


INSTALL_AND_PLAY = """
import sys
from openenv_core import AutoAction, AutoEnv

name, url, commit = sys.argv[1:]
try:
    AutoEnv.from_env(name, base_url=url)
except ValueError as error:
    print("trust" in str(error))
with AutoEnv.from_env(name, base_url=url, trust_remote_code=True, revision=commit) as env:
    env.reset(seed=7)
    print(env.step(AutoAction.from_env(name)(message="hello")).reward)
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_client_of_a_space_is_installed_at_the_commit_that_is_trusted(
    openenv: Run, hub: FakeHub, empty: Environment, tmp_path: Path
) -> None:
    assert openenv("push", "echo_env", "--core", "index").code == 0
    empty.install(write_core_wheel(tmp_path))
    heads = empty.run("git", "ls-remote", f"{hub.url}/spaces/ada/echo_env", "HEAD").split()
    with ProcessRuntime("echo_env") as server:
        told = empty.run(
            *(empty.python, "-c", INSTALL_AND_PLAY, "ada/echo_env", server.base_url, heads[0]),
            cwd=tmp_path,
            PIP_NO_INDEX="1",
            # What a build requires is here already; this is how pip spells that there is to be no isolation.
            PIP_NO_BUILD_ISOLATION="0",
        )
    assert told.split() == ["True", "0.5"]
