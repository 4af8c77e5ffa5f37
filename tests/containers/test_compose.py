"""The compose file starts all four, with the compose command of version 1 or 2."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

from openenv_core.runtimes.readiness import is_ready
from tests.containers import player
from tests.containers.engine import IMAGES, LIMIT_S, Images
from tests.support.source import REPOSITORY
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.timeout(LIMIT_S)

_FILE = REPOSITORY / "docker" / "compose.yaml"
_PORTS = {
    "echo_env": "ECHO_PORT",
    "textarena_env": "WORDLE_PORT",
    "openspiel_env": "CATCH_PORT",
    "browsergym_env": "BROWSERGYM_PORT",
}


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
def ports(engine: "DockerClient", images: Images, compose: list[str]) -> Iterator[dict[str, int]]:
    for each in IMAGES:
        images(each.environment)
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in _PORTS]
    chosen = {name: int(each.getsockname()[1]) for name, each in zip(_PORTS, listeners, strict=True)}
    for listener in listeners:
        listener.close()
    environ = {**os.environ, **{_PORTS[name]: str(port) for name, port in chosen.items()}}
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


def test_all_four_play(ports: dict[str, int]) -> None:
    for each in IMAGES:
        url = f"http://127.0.0.1:{ports[each.environment]}"
        eventually(partial(is_ready, url), limit_s=60)
        result = getattr(player, each.environment)(url)
        assert f"{result.reward} {result.done}".endswith(each.played)
