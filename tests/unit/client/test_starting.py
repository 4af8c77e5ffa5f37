"""Handles of clients whose server is yet to be started."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from openenv_core.client import AsyncEnvClient
from openenv_core.client.starting import BoundProvider, RuntimeProvider, Starting
from openenv_core.errors import ConfigurationError, ConnectionFailedError
from tests.support.clients import World
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.serving import Served, serving

UNREACHABLE = "http://127.0.0.1:9"


class Runtime:
    """A server that runs already; says what it was asked to do."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.asked: list[str] = []

    def start(self) -> str:
        self.asked.append("start")
        return self.base_url

    def stop(self) -> None:
        self.asked.append("stop")


class PublicProvider:
    """A provider of the public package's kind: it is told what to start."""

    def __init__(self, base_url: str, *, becomes_ready: bool = True) -> None:
        self.base_url = base_url
        self.becomes_ready = becomes_ready
        self.asked: list[Any] = []

    def start_container(self, image: str, port: int | None = None, env_vars: Any = None, **options: Any) -> str:
        self.asked.append((image, port, env_vars, options))
        return self.base_url

    def wait_for_ready(self, base_url: str, timeout_s: float = 30.0) -> None:
        self.asked.append(base_url)
        if not self.becomes_ready:
            raise ConnectionFailedError("it is not ready")

    def stop_container(self) -> None:
        self.asked.append("stop")


@pytest.fixture
def served(journal: Journal) -> Iterator[Served]:
    with serving(Factory(journal, BlockingWorld), Act, Seen, WorldState, limits={"max_sessions": 4}) as found:
        yield found


def handle_of(runtime: Runtime, **arguments: Any) -> Starting[Act, Seen, WorldState]:
    return Starting(World, lambda: RuntimeProvider(runtime), arguments)


def test_the_blocking_client_is_connected_and_owns_the_server(served: Served) -> None:
    runtime = Runtime(served.base_url)
    world = handle_of(runtime, message_timeout_s=7.0).sync()
    assert isinstance(world, World)
    assert served.active == 1
    assert world._settings.message_timeout_s == 7.0
    assert world.reset(seed=3).observation.seed == 3
    assert runtime.asked == ["start"]
    world.close()
    world.close()
    assert runtime.asked == ["start", "stop"]


def test_with_and_async_with(served: Served) -> None:
    runtime = Runtime(served.base_url)
    with handle_of(runtime) as world:
        assert world.reset().observation.steps == 0

    async def play() -> None:
        async with handle_of(runtime) as world:
            assert isinstance(world, AsyncEnvClient)
            assert (await world.reset()).observation.steps == 0

    asyncio.run(play())
    assert runtime.asked == ["start", "stop"] * 2


@pytest.mark.parametrize(
    "how", [lambda handle: handle, asyncio.ensure_future, asyncio.wait_for], ids=["plain", "task", "limit"]
)
def test_awaiting(served: Served, how: Any) -> None:
    runtime = Runtime(served.base_url)

    async def play() -> None:
        world = await (how(handle_of(runtime), 30) if how is asyncio.wait_for else how(handle_of(runtime)))
        assert (await world.reset(seed=3)).observation.seed == 3
        await world.close()

    asyncio.run(play())
    assert runtime.asked == ["start", "stop"]


def test_a_runner_takes_it(served: Served) -> None:
    runtime = Runtime(served.base_url)
    with asyncio.Runner() as runner:
        world = runner.run(handle_of(runtime))
        assert world.base_url == served.base_url
        runner.run(world.close())
    assert runtime.asked == ["start", "stop"]


def test_one_that_nobody_uses_does_nothing() -> None:
    runtime = Runtime(UNREACHABLE)
    handle_of(runtime).close()
    handle_of(runtime)
    assert runtime.asked == []


def test_it_is_used_once(served: Served) -> None:
    handle = handle_of(Runtime(served.base_url))
    with handle, pytest.raises(ConfigurationError, match="make another"):
        handle.sync()

    async def again() -> None:
        with pytest.raises(ConfigurationError, match="make another"):
            await handle

    asyncio.run(again())


def test_a_server_that_cannot_be_reached_is_stopped() -> None:
    runtime = Runtime(UNREACHABLE)
    with pytest.raises(ConnectionFailedError):
        handle_of(runtime).sync()
    with pytest.raises(ConnectionFailedError):
        asyncio.run(handle_of(runtime))
    assert runtime.asked == ["start", "stop"] * 2


def test_a_new_session_is_with_the_same_server_and_does_not_own_it(served: Served) -> None:
    runtime = Runtime(served.base_url)
    with handle_of(runtime) as first:
        with first.new_session() as second:
            assert second.base_url == first.base_url
            assert served.active == 2
        assert runtime.asked == ["start"]

    async def twice() -> None:
        async with handle_of(runtime) as first, await first.new_session() as second:
            assert second.base_url == first.base_url

    asyncio.run(twice())
    assert runtime.asked == ["start", "stop"] * 2


class TestProviders:
    def test_a_provider_is_told_what_to_start(self, served: Served) -> None:
        provider = PublicProvider(served.base_url)
        given: dict[str, Any] = {"env_vars": {"A": "b"}, "memory": "1g"}
        with World.from_docker_image("an-image", provider, **given, message_timeout_s=7.0) as world:
            assert world._settings.message_timeout_s == 7.0
        assert provider.asked == [("an-image", None, {"A": "b"}, {"memory": "1g"}), served.base_url, "stop"]

    def test_a_server_that_does_not_become_ready_is_stopped(self) -> None:
        provider = PublicProvider(UNREACHABLE, becomes_ready=False)
        world = World(provider=BoundProvider(provider, "an-image", {}))
        with pytest.raises(ConnectionFailedError, match="not ready"):
            world.connect()
        assert provider.asked[-1] == "stop"
        world.close()
        assert provider.asked.count("stop") == 1

    def test_the_client_sends_the_token_that_it_sets(self) -> None:
        handle = World.from_docker_image("an-image", env_vars={"OPENENV_TOKEN": "a-secret"})
        assert handle._arguments == {"token": "a-secret"}
        handle = World.from_docker_image("an-image", env_vars={"OPENENV_TOKEN": "a-secret"}, token="another")
        assert handle._arguments == {"token": "another"}
