"""Installs in empty environments, from wheels: what a client brings, that it plays, and that a server serves."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.conftest import Distributions

_LIMIT_S = 300

_WANTED = {"httpx", "openenv-core", "openenv-echo-env", "pydantic", "websockets"}
_BROUGHT_BY_THEM = {
    *("annotated-types", "anyio", "certifi", "h11", "httpcore", "idna"),
    *("pydantic-core", "sniffio", "typing-extensions", "typing-inspection"),
}
_TOOLS = {"pip", "setuptools"}

_PLAY = """
import sys
from echo_env import EchoAction, EchoEnv

with EchoEnv(base_url=sys.argv[1]) as env:
    env.reset(seed=7)
    print(env.step(EchoAction(message="hello")).reward)
"""

pytestmark = pytest.mark.timeout(2 * _LIMIT_S)


def install(folder: Path, *what: str | Path) -> Path:
    """The Python of an empty environment in which these are installed, and what they require."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=_LIMIT_S)
    python = folder / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture(scope="module")
def client_python(tmp_path_factory: pytest.TempPathFactory, distributions: Distributions) -> Path:
    """The Python of an environment with the client alone."""
    wheels = [distributions.wheel("openenv-core"), distributions.wheel("openenv-echo-env")]
    return install(tmp_path_factory.mktemp("client"), *wheels)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, distributions: Distributions) -> Iterator[str]:
    """A server in an environment of its own, without the extras that nobody asked for."""
    wheels = [distributions.wheel("openenv-echo-env"), distributions.wheel("openenv-echo-env-server")]
    core = f"openenv-core[cli,server] @ {distributions.wheel('openenv-core').as_uri()}"
    python = install(tmp_path_factory.mktemp("server"), core, *wheels)
    process = subprocess.Popen(
        [python, "-m", "openenv_core.cli", "serve", "echo_env", "--port", "0"],
        cwd=python.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.communicate(timeout=_LIMIT_S)


def _address(process: "subprocess.Popen[str]") -> str:
    """Where the server listens, as its log tells."""
    told = ""
    assert process.stdout is not None
    for line in process.stdout:
        told += line
        found = re.search(r'listening on (http://[^\s"]+)', line)
        if found is not None:
            return found.group(1)
    pytest.fail(f"the server ended:\n{told}")


def test_a_client_install_brings_nothing_of_the_server(client_python: Path) -> None:
    listed = subprocess.run(
        [client_python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=True,
    )
    names = {entry["name"].lower().replace("_", "-") for entry in json.loads(listed.stdout)}
    assert names >= _WANTED
    assert names <= _WANTED | _BROUGHT_BY_THEM | _TOOLS


def test_an_installed_client_plays_at_an_installed_server(client_python: Path, server: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [client_python, "-c", _PLAY, server],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "0.5"), done.stderr


def test_a_client_install_says_what_the_command_needs(client_python: Path) -> None:
    done = subprocess.run(
        [client_python.parent / "openenv", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "pip install 'openenv-core[server,cli]'" in done.stderr
