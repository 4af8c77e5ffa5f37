"""An engine, the images, and an environment in which the clients are installed."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openenv_core.errors import ConfigurationError
from openenv_core.runtimes.engine import connect_engine
from tests.containers.engine import LIMIT_S, Images
from tests.support.source import REPOSITORY

if TYPE_CHECKING:
    from docker import DockerClient

_OURS = "/var/cache/openenv-engine/docker.sock"
"""Where `docker/engine.sh up` starts one."""

_BRING_ONE = "`make engine`, as root on Debian, brings one"


@pytest.fixture(scope="session")
def engine() -> Iterator["DockerClient"]:
    """A container engine. Where none answers, what needs one is skipped, with the reason."""
    pytest.importorskip("docker", reason="containers need the extra docker")
    if "DOCKER_HOST" not in os.environ and Path(_OURS).is_socket() and not Path("/var/run/docker.sock").exists():
        os.environ["DOCKER_HOST"] = f"unix://{_OURS}"
    try:
        found = connect_engine()
    except ConfigurationError as error:
        pytest.skip(f"{error.message}. {_BRING_ONE}")
    yield found
    found.close()


@pytest.fixture(scope="session")
def images(engine: "DockerClient") -> Iterator[Images]:
    """The images that we ship, built from this repository."""
    made = Images()
    yield made
    made.finish()


@pytest.fixture(scope="session")
def client_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the four clients are installed, and no server."""
    folder = tmp_path_factory.mktemp("clients")
    clients = [f"./clients/{name}" for name in ("echo_env", "textarena_env", "openspiel_env", "browsergym_env")]
    python = folder / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ".", *clients],
    ):
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
