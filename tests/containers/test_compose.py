"""The compose file starts all four, with the compose command of version 1 or 2."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.containers.engine import IMAGES, LIMIT_S, Images
from tests.support.source import REPOSITORY
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.timeout(LIMIT_S)

_FILE = REPOSITORY / "docker" / "compose.yaml"
_PORTS = ("ECHO_PORT", "WORDLE_PORT", "CATCH_PORT", "BROWSERGYM_PORT")


@pytest.fixture(scope="module")
def compose() -> list[str]:
    """The compose command that is here."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is not None:
            asked = subprocess.run([*command, "version"], capture_output=True, timeout=60, check=False)
            if asked.returncode == 0:
                return command
    pytest.skip("there is no compose command here")


@pytest.fixture(scope="module")
def ports(engine: "DockerClient", images: Images, compose: list[str]) -> Iterator[list[int]]:
    for each in IMAGES:
        images(each.environment)
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in _PORTS]
    chosen = [int(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    environ = {**os.environ, **{name: str(port) for name, port in zip(_PORTS, chosen, strict=True)}}
    project = [*compose, "--file", str(_FILE), "--project-name", f"openenv-test-{os.getpid()}"]
    up = subprocess.run(
        [*project, "up", "--detach", "--no-build"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    try:
        assert up.returncode == 0, up.stderr
        yield chosen
    finally:
        down = [*project, "down", "--timeout", "5"]
        subprocess.run(down, env=environ, capture_output=True, timeout=120, check=True)


def test_all_four_become_ready(ports: list[int]) -> None:
    def names() -> list[str]:
        found = []
        for port in ports:
            try:
                found.append(httpx.get(f"http://127.0.0.1:{port}/metadata", timeout=5, trust_env=False).json()["name"])
            except httpx.HTTPError:
                return []
        return found

    eventually(names, limit_s=60)
    assert names() == ["echo_env", "textarena_env", "openspiel_env", "browsergym_env"]
