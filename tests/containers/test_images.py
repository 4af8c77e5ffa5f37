"""Each image, built and run as an operator would."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from echo_env import EchoAction, EchoEnv
from openenv_core import CapacityReachedError, SessionLostError
from openenv_core.errors import UnauthorizedError
from tests.containers.engine import IMAGES, LIMIT_S, PLAYER, Images, Shipped, health, output_of, run_container, url_of
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

pytestmark = pytest.mark.timeout(LIMIT_S)

_STOP_LIMIT_S = 10
"""What `docker stop` gives before it kills."""


@pytest.fixture(scope="module", params=IMAGES, ids=lambda each: each.image)
def shipped(request: pytest.FixtureRequest, images: Images) -> Shipped:
    found: Shipped = request.param
    images(found.environment)
    return found


@pytest.fixture(scope="module")
def container(shipped: Shipped, engine: "DockerClient") -> Iterator["Container"]:
    with run_container(engine, shipped.image) as running:
        yield running


def test_it_is_no_larger_than_it_may_be(shipped: Shipped, engine: "DockerClient") -> None:
    assert engine.images.get(shipped.image).attrs["Size"] <= shipped.budget_mb * 1_000_000


def test_it_says_what_it_is(shipped: Shipped, engine: "DockerClient") -> None:
    labels = engine.images.get(shipped.image).labels
    named = {
        name.rpartition(".")[2] for name in labels if name.startswith("org.opencontainers.image.") and labels[name]
    }
    assert named >= {"title", "description", "licenses", "version", "revision", "created"}
    assert labels["openenv.environment"] == shipped.environment
    assert labels["openenv.confined"] == "true"


def test_an_installed_client_plays(
    shipped: Shipped, container: "Container", client_python: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [client_python, PLAYER, shipped.environment, url_of(container)],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}\n{container.logs().decode()}"
    assert done.stdout.strip().endswith(shipped.played)


def test_its_page_opens(container: "Container") -> None:
    answer = httpx.get(f"{url_of(container)}/web", timeout=30, trust_env=False, follow_redirects=True)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_it_runs_as_nobody_special(container: "Container") -> None:
    status = output_of(container, "cat", "/proc/1/status")
    lines = dict(line.split(":", 1) for line in status.splitlines())
    assert lines["Uid"].split() == ["1000"] * 4
    assert int(lines["CapEff"], 16) == 0
    assert int(lines["NoNewPrivs"]) == 1
    assert container.exec_run(["touch", "/tmp/written"]).exit_code == 0
    for place in ("/written", "/home/openenv/written", "/opt/openenv/written", "/var/written"):
        assert container.exec_run(["touch", place]).exit_code != 0


def test_an_init_is_the_first_process_and_reaps(container: "Container") -> None:
    assert output_of(container, "cat", "/proc/1/comm") == "tini\n"
    orphan = (
        "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    sys.exit() if os.fork() else os._exit(0)\nos.wait()"
    )
    output_of(container, "python", "-c", orphan)

    def zombies() -> int:
        text = "import glob\nprint(sum(') Z ' in open(p).read() for p in glob.glob('/proc/[0-9]*/stat')))"
        return int(output_of(container, "python", "-c", text))

    eventually(lambda: zombies() == 0)


def test_it_holds_nothing_to_build_or_install_with(container: "Container") -> None:
    assert container.exec_run(["python", "-c", "import pip"]).exit_code != 0
    assert container.exec_run(["sh", "-c", "command -v gcc make git"]).exit_code != 0


def test_its_log_is_json(shipped: Shipped, container: "Container") -> None:
    lines = container.logs().decode().splitlines()
    told = [json.loads(line)["message"] for line in lines]
    assert any(message.startswith("listening on http://0.0.0.0:8000") for message in told)


def test_it_plays_without_any_network(shipped: Shipped, engine: "DockerClient") -> None:
    with run_container(engine, shipped.image, network_mode="none") as alone:
        # A client in the same network namespace: the image has one installed, too.
        played = engine.containers.run(
            shipped.image,
            ["python", "-c", PLAYER.read_text(), shipped.environment, "http://127.0.0.1:8000"],
            network_mode=f"container:{alone.id}",
            remove=True,
        )
    assert played.decode().strip().endswith(shipped.played)


def test_it_stops_in_order_and_soon(container: "Container") -> None:
    # The last of a module's tests with this container.
    began = time.monotonic()
    container.stop(timeout=_STOP_LIMIT_S)
    took = time.monotonic() - began
    container.reload()
    # Killed, it would be 137.
    assert (container.attrs["State"]["ExitCode"], container.attrs["State"]["OOMKilled"]) == (0, False), took


class TestOperating:
    """What is the same in all images is tried with the smallest."""

    @pytest.fixture
    def image(self, images: Images) -> str:
        return images("echo_env")

    def test_settings_are_environment_variables(self, image: str, engine: "DockerClient") -> None:
        variables = {"PORT": "9000", "MAX_CONCURRENT_ENVS": "2", "OPENENV_TOKEN": "a-secret"}
        ports = {"9000/tcp": ("127.0.0.1", None)}
        with run_container(engine, image, environment=variables, ports=ports) as container:
            url = url_of(container, 9000)
            with pytest.raises(UnauthorizedError):
                EchoEnv(base_url=url).connect()
            with EchoEnv(base_url=url, token="a-secret") as first, EchoEnv(base_url=url, token="a-secret"):
                assert first.reset().observation.echoed_message
                third = EchoEnv(base_url=url, token="a-secret")
                with pytest.raises(CapacityReachedError):
                    third.reset()
            with EchoEnv(base_url=url, token="a-secret", wait_for_capacity_s=30) as later:
                assert later.step(EchoAction(message="hello")).reward == 0.5
            assert b"a-secret" not in container.logs()

    def test_a_session_is_told_that_the_server_stops(self, image: str, engine: "DockerClient") -> None:
        with run_container(engine, image) as container, EchoEnv(base_url=url_of(container)) as env:
            env.reset()
            container.stop(timeout=_STOP_LIMIT_S)
            with pytest.raises(SessionLostError) as lost:
                env.step(EchoAction(message="hello"))
            assert lost.value.reason == "shutdown"

    def test_a_restart_in_the_middle_of_an_episode(self, image: str, engine: "DockerClient", free_port: int) -> None:
        ports = {"8000/tcp": ("127.0.0.1", free_port)}
        with run_container(engine, image, ports=ports) as container, EchoEnv(base_url=url_of(container)) as env:
            env.reset()
            container.kill()
            container.start()
            with pytest.raises(SessionLostError) as lost:
                env.step(EchoAction(message="hello"))
            assert lost.value.reason == "server_restarted"
            env.reset()
            assert env.step(EchoAction(message="hello")).reward == 0.5

    def test_its_health_tells_a_server_that_hangs(self, image: str, engine: "DockerClient") -> None:
        with run_container(engine, image) as container:
            for signal, found in (("STOP", "unhealthy"), ("CONT", "healthy")):
                text = f"import os, signal\nos.kill({_server_pid(container)}, signal.SIG{signal})"
                output_of(container, "python", "-c", text)
                eventually(partial(_has_health, container, found), limit_s=40)

    def test_a_setting_that_cannot_work_ends_it_at_once(self, image: str, engine: "DockerClient") -> None:
        container = engine.containers.run(image, detach=True, environment={"MAX_CONCURRENT_ENVS": "many"})
        try:
            assert container.wait(timeout=60)["StatusCode"] == 1
            assert b"MAX_CONCURRENT_ENVS='many'" in container.logs()
        finally:
            container.remove(force=True)


def _has_health(container: "Container", wanted: str) -> bool:
    return health(container) == wanted


def _server_pid(container: "Container") -> int:
    """The child of the first process."""
    return int(output_of(container, "cat", "/proc/1/task/1/children").split()[0])
