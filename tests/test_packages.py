"""A client's install, in an empty environment: what it brings, and that it plays."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openenv_core.runtimes.process import ProcessRuntime

_ROOT = Path(__file__).parent.parent
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


@pytest.fixture(scope="module")
def client_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which only the client is installed, as the README says."""
    folder = tmp_path_factory.mktemp("client")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=_LIMIT_S)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ".", "./clients/echo_env"]
    done = subprocess.run(install, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return python


@pytest.mark.timeout(2 * _LIMIT_S)
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


@pytest.mark.timeout(2 * _LIMIT_S)
def test_an_installed_client_plays(client_python: Path, tmp_path: Path) -> None:
    with ProcessRuntime("echo_env") as runtime:
        done = subprocess.run(
            [client_python, "-c", _PLAY, runtime.base_url],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    assert (done.returncode, done.stdout.strip()) == (0, "0.5"), done.stderr
