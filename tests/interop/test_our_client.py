"""Our clients at a server of the public package: protocol version 1, found out by themselves.

Every play runs at our server, too, in version 2: whatever the server, a user sees the same.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.processes import ServerProcess, free_port, running, spawn
from echo_env import EchoAction, EchoEnv
from openenv_core.client import AsyncEnvClient, BatchClient, EnvClient, GenericEnvClient
from openenv_core.errors import (
    CapacityReachedError,
    ConnectionFailedError,
    EnvironmentFactoryError,
    EnvironmentFailedError,
    SessionLostError,
    ValidationFailedError,
)

from .conftest import StartServer
from .servers import PEER_PLACE, peer_command
from .toy_ours import ToyAction, ToyObservation, ToyState

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]


class ToyEnv(EnvClient[ToyAction, ToyObservation, ToyState]):
    """The typed client."""

    action_type, observation_type, state_type = ToyAction, ToyObservation, ToyState


class Awaited:
    """An awaiting client in blocking clothes: every call runs on the one loop that its client belongs to."""

    def __init__(self, client: AsyncEnvClient[Any, Any, Any]) -> None:
        self._client = client
        self._runner = asyncio.Runner()

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        method = getattr(self._client, verb)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await method(*args, **kwargs)

        return lambda *args, **kwargs: self._runner.run(call(*args, **kwargs))

    def __enter__(self) -> "Awaited":
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def end(self) -> None:
        """Close the client and its loop."""
        self.close()
        self._runner.close()


MakeClient = Callable[..., Any]


@pytest.fixture(params=["blocking", "awaiting"])
def make_client(request: pytest.FixtureRequest) -> Iterator[MakeClient]:
    """Makes a typed client for a URL."""
    with contextlib.ExitStack() as stack:

        def make(url: str, **options: Any) -> Any:
            if request.param == "blocking":
                client = ToyEnv(base_url=url, **options)
                stack.callback(client.close)
                return client
            awaited = Awaited(ToyEnv.aio(base_url=url, **options))
            stack.callback(awaited.end)
            return awaited

        yield make


@pytest.fixture(params=["peer", "ours"])
def server(request: pytest.FixtureRequest) -> StartServer:
    """Starts an app of the toy environment, with the public package or with ours."""
    start: StartServer = request.getfixturevalue("peer_server" if request.param == "peer" else "our_server")
    return start


def test_a_whole_play(server: StartServer, make_client: MakeClient) -> None:
    with make_client(server("app").base_url) as env:
        first = env.reset(seed=7, episode_id="e1", difficulty="hard")
        assert first.observation == ToyObservation(echoed="ready seed=7 difficulty=hard")
        assert (first.reward, first.done, first.truncated) == (None, False, False)

        result = env.step(ToyAction(text="é ☃", times=2))
        assert result.observation == ToyObservation(echoed="é ☃é ☃", count=1, reward=1)
        assert (result.reward, result.done) == (1, False)

        assert env.step(ToyAction(text="meta")).metadata == {"k": 1, "nested": {"list": [1, 2.5, None, True]}}
        assert env.step(ToyAction(text="none")).reward is None
        assert env.step(ToyAction(text="text-bytes")).observation.blob == b"hi \xc3\xa9"
        assert env.state() == ToyState(episode_id="e1", step_count=4, difficulty="hard")

        last = env.step(ToyAction(text="end"))
        assert (last.reward, last.done, last.terminated, last.observation.done) == (-1.5, True, True, True)
        env.reset()
        assert env.state() == ToyState(episode_id="unnamed", step_count=0)


def test_a_refused_action_is_a_typed_error_and_the_session_lives(server: StartServer, make_client: MakeClient) -> None:
    # What the type refuses never leaves the client; an action of another version of the type may.
    stale = ToyAction.model_construct(text="hi", times=9, metadata={})
    with make_client(server("app").base_url) as env:
        env.reset()
        with pytest.raises(ValidationFailedError) as refusal:
            env.step(stale)
        assert [error["loc"][-1] for error in refusal.value.details["errors"]] == ["times"]
        assert env.step(ToyAction(text="hi")).observation.count == 1


def test_an_exception_of_the_environment_is_a_typed_error_and_the_session_lives(
    server: StartServer, make_client: MakeClient
) -> None:
    with make_client(server("app").base_url) as env:
        with pytest.raises(EnvironmentFailedError, match="reset exploded"):
            env.reset(difficulty="boom")
        env.reset()
        with pytest.raises(EnvironmentFailedError, match="step exploded"):
            env.step(ToyAction(text="boom"))
        assert env.step(ToyAction(text="hi")).observation.count == 1


def test_a_full_server_refuses_with_its_numbers(server: StartServer, make_client: MakeClient) -> None:
    url = server("plain_app").base_url
    with make_client(url, wait_for_capacity_s=20) as first:
        first.reset()
        second = make_client(url)
        with pytest.raises(CapacityReachedError) as refusal:
            second.reset()
        assert refusal.value.details["active_sessions"] == refusal.value.details["max_sessions"] == 1
        assert first.step(ToyAction(text="hi")).observation.count == 1
        second.close()


def test_a_client_waits_for_its_turn(server: StartServer, make_client: MakeClient) -> None:
    url = server("plain_app").base_url
    first = make_client(url, wait_for_capacity_s=20)
    first.reset(episode_id="first")
    first.close()
    with make_client(url, wait_for_capacity_s=20) as second:
        second.reset(episode_id="second")
        assert second.state().episode_id == "second"


def test_a_factory_that_fails_is_a_typed_error(server: StartServer, make_client: MakeClient) -> None:
    client = make_client(server("broken_app").base_url)
    with pytest.raises(EnvironmentFactoryError) as failure:
        client.reset()
    assert failure.value.details["factory_name"] == "broken_factory"
    client.close()


def test_the_versions_are_found_out(peer_server: StartServer, our_server: StartServer, make_client: MakeClient) -> None:
    for start, has_name in ((peer_server, False), (our_server, True)):
        with ToyEnv(base_url=start("app").base_url) as env:
            env.reset()
            assert bool(env.session_id) is has_name


def test_an_untyped_client(server: StartServer) -> None:
    with GenericEnvClient(base_url=server("app").base_url) as env:
        assert env.reset(seed=3).observation["echoed"] == "ready seed=3 difficulty=easy"
        result = env.step({"text": "hi", "times": 3})
        assert (result.observation["echoed"], result.reward, result.done) == ("hihihi", 1, False)
        with pytest.raises(ValidationFailedError):
            env.step({"text": ""})
        with pytest.raises(EnvironmentFailedError, match="step exploded"):
            env.step({"text": "boom"})
        assert env.state()["step_count"] == 1


def test_many_sessions_at_once(server: StartServer) -> None:
    url = server("app").base_url
    with BatchClient[ToyAction, ToyObservation, ToyState](url, 4, types=ToyEnv, wait_for_capacity_s=20) as batch:
        greetings = [result.observation.echoed for result in batch.reset(seeds=[5, 6, None, 8])]
        assert greetings == [f"ready seed={seed} difficulty=easy" for seed in (5, 6, None, 8)]

        words = ["a", "boom", "c", "end"]
        results: list[Any] = batch.step([ToyAction(text=word) for word in words], return_exceptions=True)
        assert [type(result).__name__ for result in results] == [
            "StepResult",
            "EnvironmentFailedError",
            "StepResult",
            "StepResult",
        ]
        assert (results[0].observation.echoed, results[2].observation.echoed) == ("a", "c")
        assert (results[3].reward, results[3].done) == (-1.5, True)

        # A failed session and one that is over go on beside the others.
        batch.reset(indices=[1, 3])
        batch.send([ToyAction(text=word) for word in words[:1] * 4])
        came: dict[int, Any] = {}
        while len(came) < 4:
            came.update(batch.recv(4 - len(came)))
        assert [came[index].observation.count for index in range(4)] == [2, 1, 2, 1]
        assert [state.step_count for state in batch.state()] == [2, 1, 2, 1]


def test_a_batch_that_does_not_fit_says_so(server: StartServer) -> None:
    batch = BatchClient[ToyAction, ToyObservation, ToyState](server("plain_app").base_url, 2, types=ToyEnv)
    with pytest.raises(CapacityReachedError):
        batch.reset()
    batch.close()


def test_the_echo_client_at_an_echo_server_of_the_public_package(peer_server: StartServer) -> None:
    with EchoEnv(base_url=peer_server("benchmarks.peer_echo_server:app").base_url) as env:
        env.reset(episode_id="e1")
        result = env.step(EchoAction(message="hello"))
        assert (result.observation.echoed_message, result.observation.message_length) == ("hello", 5)
        assert result.reward == pytest.approx(0.5)
        assert (env.state().episode_id, env.state().step_count) == ("e1", 1)


@pytest.fixture
def mortal_server(peer: object) -> Iterator[ServerProcess]:
    """A server of the public package of the test's own."""
    with running(peer_command("app"), environment=PEER_PLACE) as server:
        yield server


def test_a_killed_server_is_a_lost_session(mortal_server: ServerProcess, make_client: MakeClient) -> None:
    env = make_client(mortal_server.base_url, reconnect_timeout_s=2)
    env.reset()
    env.step(ToyAction(text="hi"))
    mortal_server.kill()

    for _ in range(2):  # and it stays lost: no silent fresh world
        with pytest.raises(SessionLostError) as loss:
            env.step(ToyAction(text="hi"))
        assert loss.value.reason == "disconnected"
        with pytest.raises(SessionLostError):
            env.state()
    with pytest.raises(ConnectionFailedError):
        env.reset()

    successor = spawn(peer_command("app"), environment=PEER_PLACE, port=mortal_server.port)
    try:
        env.reset()
        assert env.step(ToyAction(text="hi")).observation.count == 1
        env.close()
    finally:
        successor.stop()
        successor.log.unlink()


def test_a_server_that_is_not_there(make_client: MakeClient) -> None:
    with pytest.raises(ConnectionFailedError, match="Failed to connect"):
        make_client(f"http://127.0.0.1:{free_port()}").reset()
