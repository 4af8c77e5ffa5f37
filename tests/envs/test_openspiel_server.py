"""OpenSpiel over the wire: a real server, the typed client, and what other people's programs send and read."""

import json
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from websockets.sync.client import connect
from websockets.sync.server import Server, ServerConnection, serve

from benchmarks.processes import ServerProcess, running, source_path
from openenv_core.adapters.gymnasium import GymnasiumEnv
from openenv_core.client import GenericEnvClient
from openenv_core.errors import (
    EpisodeNotStartedError,
    EpisodeOverError,
    UnknownResetOptionError,
    ValidationFailedError,
)
from openspiel_env import OpenSpielAction, OpenSpielEnv, OpenSpielObservation
from openspiel_env_server import OpenSpielEnvironment
from openspiel_env_server import demo as demonstration
from tests.envs.openspiel_play import NAMED, act, play

_COMMAND = (sys.executable, "-m", "uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "warning")
_APP = "openspiel_env_server.app:app"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running([*_COMMAND, _APP], environment={"PYTHONPATH": source_path()}) as process:
        yield process


@pytest.fixture
def env(server: ServerProcess) -> Iterator[OpenSpielEnv]:
    with OpenSpielEnv(base_url=server.base_url) as client:
        yield client


@pytest.mark.parametrize("game_name", NAMED)
def test_the_wire_changes_nothing(env: OpenSpielEnv, game_name: str) -> None:
    local = OpenSpielEnvironment()
    for seed in range(3):
        observations, actions = play(local, seed, game_name=game_name)
        results = [env.reset(seed=seed, game_name=game_name)]
        results += [env.step(OpenSpielAction(action_id=action)) for action in actions]
        assert [result.observation for result in results] == observations
        assert [(r.reward, r.done, r.truncated) for r in results] == [(o.reward, o.done, False) for o in observations]
        state = env.state()
        assert (state.game_name, state.step_count, state.num_players) == (
            game_name,
            len(actions),
            local.state.num_players,
        )
        assert state.episode_id


def test_calls_out_of_order_are_refused_and_the_session_lives(env: OpenSpielEnv) -> None:
    with pytest.raises(EpisodeNotStartedError):
        env.step(OpenSpielAction(action_id=0))
    assert env.state().game_name == "catch"
    result = env.reset(seed=1, game_params={"rows": 2})
    session = env.session_id
    assert env.step(OpenSpielAction(action_id=1)).done
    for _ in range(2):
        with pytest.raises(EpisodeOverError):
            env.step(OpenSpielAction(action_id=1))
    assert env.reset(seed=1, game_params={"rows": 2}).observation == result.observation
    assert env.session_id == session


@pytest.mark.parametrize("action", [99, -5, True, "1", 1.5, None])
def test_every_illegal_action_is_refused_and_the_game_goes_on(server: ServerProcess, action: Any) -> None:
    local = OpenSpielEnvironment()
    local.reset(seed=3)
    with GenericEnvClient(base_url=server.base_url) as client:
        client.reset(seed=3)
        with pytest.raises(ValidationFailedError) as caught:
            client.step({"action_id": action})
        assert "action_id" in str(caught.value.details)
        if type(action) is int:
            assert caught.value.details["legal_actions"] == [0, 1, 2]
        assert client.state()["step_count"] == 0
        after = client.step({"action_id": 2})
        assert after.observation["info_state"] == act(local, 2).info_state


def test_an_unknown_option_is_refused_by_name_and_a_known_one_by_value(env: OpenSpielEnv) -> None:
    with pytest.raises(UnknownResetOptionError) as caught:
        env.reset(seed=1, game="catch")
    assert caught.value.details["unknown"] == ["game"]
    assert set(caught.value.details["known"]) == {
        "agent_player",
        "episode_id",
        "game_name",
        "game_params",
        "opponent_policy",
        "seed",
    }
    with pytest.raises(ValidationFailedError, match="opponent_policy"):
        env.reset(opponent_policy="clever")
    with pytest.raises(ValidationFailedError, match=r"rows.*2 to 100"):
        env.reset(game_params={"rows": -1})


def test_searching_opponents_play_over_the_wire(env: OpenSpielEnv) -> None:
    result = env.reset(seed=1, game_name="tic_tac_toe", opponent_policy="minimax", agent_player=1)
    chooser = random.Random(1)
    while not result.done:
        result = env.step(OpenSpielAction(action_id=chooser.choice(result.observation.legal_actions)))
    assert result.reward in (-1.0, 0.0)
    assert env.state().opponent_policy == "minimax"


def test_replies_do_not_depend_on_the_hidden_card(server: ServerProcess) -> None:
    url = server.websocket_url + "/ws"
    replies: dict[str, set[str]] = {}
    with connect(url, proxy=None) as socket:
        for seed in range(60):
            options = {"seed": seed, "episode_id": "same", "game_name": "kuhn_poker", "opponent_policy": "first"}
            socket.send(json.dumps({"type": "reset", "data": options}))
            reply = socket.recv(10)
            assert isinstance(reply, str)
            socket.send('{"type": "state"}')
            reply += str(socket.recv(10))
            card = json.loads(reply[: reply.index('{"type":"state"')])["data"]["observation"]["text"].partition(";")[0]
            replies.setdefault(card, set()).add(reply)
    assert len(replies) == 3
    assert all(len(different) == 1 for different in replies.values())


def test_the_demonstration_catches_the_ball(env: OpenSpielEnv) -> None:
    results = list(demonstration.play(env))
    assert len(results) == 10
    assert (results[-1].reward, results[-1].observation.success) == (1.0, True)


def test_catch_as_a_gymnasium_environment(server: ServerProcess) -> None:
    catch = GymnasiumEnv(
        OpenSpielEnv(base_url=server.base_url),
        action_space=spaces.Discrete(3),
        observation_space=spaces.Box(0, 1, (50,), numpy.float32),
        to_action=lambda action: OpenSpielAction(action_id=int(action)),
        from_observation=lambda observation: numpy.array(observation.info_state, numpy.float32),
    )
    check_env(catch, skip_render_check=True)
    board, _ = catch.reset(seed=5)
    assert board.sum() == 2
    steps = [catch.step(1) for _ in range(9)]
    assert [terminated for _, _, terminated, _, _ in steps] == [False] * 8 + [True]
    assert steps[-1][1] == (1.0 if steps[-1][4]["is_success"] else -1.0)
    catch.close()


def test_a_trainers_catch_example_call_for_call(server: ServerProcess) -> None:
    client = OpenSpielEnv(base_url=server.base_url)
    rewards = []
    for _ in range(3):
        result = client.reset()
        while not result.observation.done:
            assert len(result.observation.info_state) == 50
            ball = result.observation.info_state.index(1.0) % 5
            result = client.step(OpenSpielAction(action_id=0 if ball < 2 else 2, game_name="catch"))
            rewards.append(result.reward)
    client.close()
    assert len(rewards) == 27
    assert set(rewards) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(("variable", "text"), [("OPENSPIEL_GAME", "cach"), ("OPENSPIEL_OPPONENT_POLICY", "clever")])
def test_a_bad_variable_stops_the_server_at_its_start(variable: str, text: str) -> None:
    environment = {"PYTHONPATH": source_path(), variable: text}
    with (
        pytest.raises(RuntimeError, match=f"ConfigurationError.*{variable}='{text}'"),
        running([*_COMMAND, _APP], environment=environment),
    ):
        pass


def test_a_server_for_another_game(server: ServerProcess) -> None:
    chosen = {"OPENSPIEL_GAME": "tic_tac_toe", "OPENSPIEL_ALLOWED_GAMES": "tic_tac_toe"}
    with (
        running([*_COMMAND, _APP], environment={"PYTHONPATH": source_path(), **chosen}) as process,
        OpenSpielEnv(base_url=process.base_url) as env,
    ):
        assert len(env.reset().observation.info_state) == 27
        with pytest.raises(ValidationFailedError, match="not offered"):
            env.reset(game_name="catch")


_REFERENCE_REPLIES = {
    "reset": {
        "observation": {
            "metadata": {},
            "info_state": [0.0, 1.0],
            "legal_actions": [0, 1, 2],
            "game_phase": "initial",
            "current_player_id": 0,
            "opponent_last_action": None,
        },
        "reward": None,
        "done": False,
    },
    "step": {
        "observation": {
            "metadata": {},
            "info_state": [1.0, 0.0],
            "legal_actions": [],
            "game_phase": "terminal",
            "current_player_id": -4,
            "opponent_last_action": 5,
        },
        "reward": 1.0,
        "done": True,
    },
    "state": {
        "episode_id": "e1",
        "step_count": 9,
        "game_name": "catch",
        "agent_player": 0,
        "opponent_policy": "random",
        "game_params": {},
        "num_players": 1,
    },
}
"""What the public package's own OpenSpiel server says: its fields, in its frames."""


@pytest.fixture
def reference_server() -> Iterator[tuple[Server, list[Any]]]:
    received: list[Any] = []

    def answer(connection: ServerConnection) -> None:
        for message in connection:
            frame = json.loads(message)
            received.append(frame)
            if frame["type"] == "close":
                return
            kind = "state" if frame["type"] == "state" else "observation"
            connection.send(json.dumps({"type": kind, "data": _REFERENCE_REPLIES[frame["type"]]}))

    with serve(answer, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server, received
        server.shutdown()
        thread.join(10)


def test_the_client_reads_the_public_packages_server(reference_server: tuple[Server, list[Any]]) -> None:
    server, received = reference_server
    port = server.socket.getsockname()[1]
    with OpenSpielEnv(base_url=f"http://127.0.0.1:{port}") as env:
        first = env.reset()
        assert isinstance(first.observation, OpenSpielObservation)
        assert (first.reward, first.done, first.observation.legal_actions) == (None, False, [0, 1, 2])
        last = env.step(OpenSpielAction(action_id=2))
        assert (last.reward, last.done, last.observation.done) == (1.0, True, True)
        assert (last.observation.opponent_last_action, last.observation.current_player_id) == (5, -4)
        assert env.state().step_count == 9
    step = next(frame for frame in received if frame["type"] == "step")
    assert step["data"].items() >= {"action_id": 2, "game_name": "catch", "game_params": {}}.items()
