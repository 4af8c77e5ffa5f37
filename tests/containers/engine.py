"""What the tests here ask of the container engine."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.source import REPOSITORY
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

__all__ = [
    "CONFINED",
    "IMAGES",
    "LIMIT_S",
    "Images",
    "Shipped",
    "health",
    "output_of",
    "run_container",
    "running",
    "url_of",
]

LIMIT_S = 420
"""Of one test: the first that needs an image waits for it to be built."""

_SECOND = 1_000_000_000
"""In the engine's unit."""

PLAYER = Path(__file__).with_name("player.py")

CONFINED: dict[str, Any] = {
    "read_only": True,
    "tmpfs": {"/tmp": ""},
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
}
"""The least that a container can be given."""


@dataclass(frozen=True)
class Shipped:
    """An image that we ship.

    Attributes:
        environment: its name.
        image: the image's.
        budget_mb: it is no larger, in MB of 1e6 bytes.
        played: what ``player.py`` prints.
    """

    environment: str
    image: str
    budget_mb: int
    played: str


IMAGES = [
    Shipped("echo_env", "openenv-echo", 350, "0.5 False"),
    Shipped("browsergym_env", "openenv-browsergym", 900, "1.0 True"),
    Shipped("textarena_env", "openenv-wordle", 350, "True"),
    Shipped("openspiel_env", "openenv-catch", 350, "1.0 True"),
]


@dataclass
class Images:
    """Builds the images at the first call, two at a time; each is waited for when it is asked for."""

    _building: dict[str, "Future[None]"] = field(default_factory=dict)

    def __call__(self, environment: str) -> str:
        """The name of an environment's image, which is there then."""
        if not self._building:
            pool = ThreadPoolExecutor(max_workers=2)
            self._building = {each.environment: pool.submit(_build, each) for each in IMAGES}
            pool.shutdown(wait=False)
        self._building[environment].result()
        return next(each.image for each in IMAGES if each.environment == environment)

    def finish(self) -> None:
        """Wait for what is still being built."""
        for future in self._building.values():
            future.exception()


def _build(shipped: Shipped) -> None:
    command = [sys.executable, "-m", "openenv_core.cli", "build", shipped.environment, "--tag", shipped.image, "--json"]
    # A registry of packages may not answer at once: what is built already stays, and the second go is short.
    for attempt in (1, 2):
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode == 0:
            return
        if attempt == 2:
            raise AssertionError(f"{shipped.image} does not build:\n{done.stderr[-3000:]}")
        time.sleep(1)


@contextmanager
def run_container(engine: "DockerClient", image: str, **options: Any) -> Iterator["Container"]:
    """A container, published on a free port of the loopback interface unless the options say otherwise; ready."""
    if not {"network_mode", "ports"} & set(options):
        options["ports"] = {"8000/tcp": ("127.0.0.1", None)}
    # The image's own probe, more often: nobody waits five seconds here.
    probe = engine.images.get(image).attrs["Config"]["Healthcheck"]["Test"]
    often = {"test": probe, "interval": _SECOND, "timeout": 5 * _SECOND, "retries": 2, "start_period": 0}
    container = engine.containers.run(image, detach=True, **{**CONFINED, "healthcheck": often, **options})
    try:
        eventually(lambda: health(container) in ("healthy", "ended"), limit_s=60)
        assert health(container) == "healthy", container.logs().decode()
        yield container
    finally:
        container.remove(force=True, v=True)


@contextmanager
def running(command: list[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """A command, whose output can be read meanwhile; stopped in order in the end, if it runs still."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)


def output_of(container: "Container", *command: str) -> str:
    """What a command in a container prints; it must succeed."""
    done = container.exec_run(list(command))
    assert isinstance(done.output, bytes)
    assert done.exit_code == 0, done.output
    return done.output.decode()


def health(container: "Container") -> str:
    """``starting``, ``healthy``, ``unhealthy``, or ``ended``."""
    container.reload()
    state = container.attrs["State"]
    return str(state["Health"]["Status"]) if state["Running"] else "ended"


def url_of(container: "Container", port: int = 8000) -> str:
    """Where its server is reached from here."""
    container.reload()
    binding = container.attrs["NetworkSettings"]["Ports"][f"{port}/tcp"][0]
    assert binding["HostIp"] == "127.0.0.1"
    return f"http://127.0.0.1:{binding['HostPort']}"
