"""Clients whose server is in a container of its own."""

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from echo_env import EchoAction, EchoEnv
from openenv_core import AsyncEnvClient, ConfigurationError, ConnectionFailedError
from openenv_core.runtimes import DockerRuntime, LocalDockerProvider
from openenv_core.runtimes.engine import sweep
from openenv_core.runtimes.owners import HOST_LABEL, PID_LABEL, host_identity
from tests.containers.engine import LIMIT_S, Images, running

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.timeout(LIMIT_S)

_HELLO = EchoAction(message="hello")


@pytest.fixture
def image(images: Images) -> str:
    return images("echo_env")


def started(engine: "DockerClient", pid: int | None = None) -> list[Any]:
    """The containers that runtimes of a process, by default of this one, have started, running or not."""
    labels = [f"{HOST_LABEL}={host_identity()}", f"{PID_LABEL}={os.getpid() if pid is None else pid}"]
    return engine.containers.list(all=True, filters={"label": labels})


class TestHandles:
    def test_a_blocking_client(self, image: str, engine: "DockerClient") -> None:
        env = EchoEnv.from_docker_image(image).sync()
        with env:
            env.reset()
            assert env.step(_HELLO).reward == 0.5
            assert len(started(engine)) == 1
        assert started(engine) == []

    def test_with(self, image: str, engine: "DockerClient") -> None:
        with EchoEnv.from_docker_image(image, env_vars={"OPENENV_TOKEN": "a-secret"}) as env:
            assert env.step(_HELLO).reward == 0.5
        assert started(engine) == []

    def test_an_awaiting_client(self, image: str, engine: "DockerClient") -> None:
        async def play() -> None:
            env = await EchoEnv.from_docker_image(image)
            assert isinstance(env, AsyncEnvClient)
            assert (await env.step(_HELLO)).reward == 0.5
            await env.close()
            async with EchoEnv.from_docker_image(image) as env:
                assert (await env.step(_HELLO)).reward == 0.5

        asyncio.run(play())
        assert started(engine) == []

    def test_it_is_a_coroutine(self, image: str) -> None:
        async def play() -> None:
            env = await asyncio.create_task(EchoEnv.from_docker_image(image))
            await env.close()

        asyncio.run(play())

    def test_one_that_is_not_used_starts_nothing(self, engine: "DockerClient") -> None:
        EchoEnv.from_docker_image("there-is-no-such-image")
        assert started(engine) == []

    def test_each_starts_one_server(self, image: str) -> None:
        handle = EchoEnv.from_docker_image(image)
        with handle, pytest.raises(ConfigurationError, match="make another"):
            handle.sync()

    def test_a_new_session_is_one_with_the_same_server(self, image: str, engine: "DockerClient") -> None:
        variables = {"MAX_CONCURRENT_ENVS": "2"}
        with EchoEnv.from_docker_image(image, env_vars=variables) as first, first.new_session() as second:
            assert second.base_url == first.base_url
            assert len(started(engine)) == 1


class TestRuntime:
    def test_what_the_container_may_and_where_it_is_reached(self, image: str, engine: "DockerClient") -> None:
        with DockerRuntime(image, memory="256m", cpus=0.5, env_vars={"PORT": "9000"}) as server:
            told = engine.containers.get(server.container_id).attrs
        host = told["HostConfig"]
        assert host["ReadonlyRootfs"] is True
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges"]
        assert host["Tmpfs"] == {"/tmp": ""}
        assert (host["Memory"], host["NanoCpus"]) == (256 * 2**20, 500_000_000)
        assert {each["HostIp"] for each in host["PortBindings"]["9000/tcp"]} == {"127.0.0.1"}

    def test_a_port_of_choice(self, image: str, free_port: int) -> None:
        with DockerRuntime(image, port=free_port) as server:
            assert server.base_url == f"http://127.0.0.1:{free_port}"

    def test_a_port_that_is_taken(self, image: str, engine: "DockerClient", free_port: int) -> None:
        with DockerRuntime(image, port=free_port), pytest.raises(ConfigurationError, match="choose another port"):
            DockerRuntime(image, port=free_port).start()
        assert started(engine) == []

    def test_the_network_of_this_machine(self, image: str) -> None:
        with DockerRuntime(image, network="host") as server, EchoEnv(base_url=server.base_url) as env:
            assert env.step(_HELLO).reward == 0.5

    def test_an_internal_network_keeps_it_within_reach(self, image: str, engine: "DockerClient") -> None:
        network = engine.networks.create("openenv-test-internal", internal=True)
        try:
            with DockerRuntime(image, network=network.name) as server, EchoEnv(base_url=server.base_url) as env:
                assert env.step(_HELLO).reward == 0.5
        finally:
            network.remove()

    def test_no_network_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="internal"):
            DockerRuntime("any", network="none")

    def test_a_server_that_ends_is_told_of_with_its_log(self, image: str, engine: "DockerClient") -> None:
        with pytest.raises(ConnectionFailedError, match=r"(?s)exit code 1.*MAX_CONCURRENT_ENVS='many'"):
            DockerRuntime(image, env_vars={"MAX_CONCURRENT_ENVS": "many"}).start()
        assert started(engine) == []

    def test_a_server_that_is_never_ready(self, image: str, engine: "DockerClient") -> None:
        command = ["python", "-c", "import time; print('I wait', flush=True); time.sleep(60)"]
        with pytest.raises(ConnectionFailedError, match=r"(?s)within 3 s.*I wait"):
            DockerRuntime(image, command=command, start_limit_s=3).start()
        assert started(engine) == []

    @pytest.mark.usefixtures("engine")
    def test_no_such_image(self) -> None:
        with pytest.raises(ConfigurationError, match="openenv build"):
            DockerRuntime("localhost:1/there-is-no-such-image").start()

    def test_a_network_that_there_is_not(self, image: str, engine: "DockerClient") -> None:
        with pytest.raises(ConfigurationError, match="there-is-no-such-network"):
            DockerRuntime(image, network="there-is-no-such-network").start()
        assert started(engine) == []


class TestProvider:
    def test_the_verbs_of_the_public_package(self, image: str, engine: "DockerClient") -> None:
        from openenv.core.containers.runtime import LocalDockerProvider as TheirName

        assert TheirName is LocalDockerProvider
        provider = LocalDockerProvider()
        url = provider.start_container(image, env_vars={"MAX_CONCURRENT_ENVS": "2"}, workers=1)
        provider.wait_for_ready(url)
        with EchoEnv(base_url=url) as env:
            assert env.step(_HELLO).reward == 0.5
        provider.stop_container()
        provider.stop_container()
        assert started(engine) == []

    def test_a_client_that_is_given_one(self, image: str, engine: "DockerClient") -> None:
        with EchoEnv.from_docker_image(image, provider=LocalDockerProvider(), memory="256m") as env:
            assert env.step(_HELLO).reward == 0.5
        assert started(engine) == []

    def test_no_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("docker")
        monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        with pytest.raises(ConfigurationError, match="no container engine answers at unix:///nonexistent"):
            LocalDockerProvider()


class TestWhatIsLeftBehind:
    _START = "from echo_env import EchoEnv\nimport sys, time\nenv = EchoEnv.from_docker_image(sys.argv[1]).sync()\n"

    def test_a_process_that_ends_takes_its_container_along(self, image: str, engine: "DockerClient") -> None:
        with running([sys.executable, "-c", f"{self._START}print('started', flush=True)", image]) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            assert process.wait(60) == 0
        assert started(engine, process.pid) == []

    def test_what_a_killed_process_left_is_removed_at_the_next_start(self, image: str, engine: "DockerClient") -> None:
        text = self._START + "print('started', flush=True)\ntime.sleep(600)\n"
        with running([sys.executable, "-c", text, image]) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            sweep(engine)
            assert len(started(engine, process.pid)) == 1  # its owner lives
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert [each.status for each in started(engine, process.pid)] == ["running"]
        with DockerRuntime(image) as server:
            assert started(engine, process.pid) == []
            assert [each.id for each in started(engine)] == [server.container_id]
        assert started(engine) == []
