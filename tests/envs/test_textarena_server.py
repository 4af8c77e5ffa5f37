"""TextArena over the wire: a real server, the typed client, and what other people's programs send and read."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import connect
from websockets.sync.server import Server, ServerConnection, serve

from benchmarks.processes import ServerProcess, peer_python, running, source_path
from openenv_core.client import GenericEnvClient
from openenv_core.errors import (
    EpisodeNotStartedError,
    EpisodeOverError,
    UnknownResetOptionError,
    ValidationFailedError,
)
from tests.envs.textarena_play import act, episode, hide, secret_of, wrong_words
from textarena_env import TextArenaAction, TextArenaEnv, TextArenaMessage, TextArenaObservation, TextArenaState
from textarena_env_server import TextArenaEnvironment
from textarena_env_server import demo as demonstration

_COMMAND = (sys.executable, "-m", "uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "info")
_APP = "textarena_env_server.app:app"


def _server(**variables: str) -> Any:
    return running([*_COMMAND, _APP], environment={"PYTHONPATH": source_path(), **variables})


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with _server() as process:
        yield process


@pytest.fixture(scope="module")
def sudoku_server() -> Iterator[ServerProcess]:
    with _server(TEXTARENA_ENV_ID="Sudoku-v0") as process:
        yield process


@pytest.fixture
def env(server: ServerProcess) -> Iterator[TextArenaEnv]:
    with TextArenaEnv(base_url=server.base_url) as client:
        yield client


def secret(seed: int) -> str:
    environment = TextArenaEnvironment("Wordle-v0", env_kwargs={})
    environment.reset(seed=seed)
    return secret_of(environment)


def test_the_wire_changes_nothing(env: TextArenaEnv) -> None:
    local = TextArenaEnvironment("Wordle-v0", env_kwargs={})
    for seed in range(5):
        moves = ["[slate]", "junk", "[zzzzz]"] if seed % 2 else ["[slate]", f"<think>[x]</think>[{secret(seed)}]"]
        observations = episode(local, seed, moves)
        results = [env.reset(seed=seed), *(env.step(TextArenaAction(message=move)) for move in moves)]
        assert [result.observation for result in results] == observations
        assert [(r.reward, r.done) for r in results] == [(o.reward, o.done) for o in observations]
        state = env.state()
        assert state.episode_id
        assert state.model_dump(exclude={"episode_id"}) == local.state.model_dump(exclude={"episode_id"})


def test_calls_out_of_order_are_refused_and_the_session_lives(env: TextArenaEnv) -> None:
    with pytest.raises(EpisodeNotStartedError):
        env.step(TextArenaAction(message="[crane]"))
    assert env.state().env_id == "Wordle-v0"
    first = env.reset(seed=1)
    won = env.step(TextArenaAction(message=f"[{secret(1)}]"))
    assert (won.done, won.reward, won.observation.success) == (True, 1.0, True)
    for _ in range(2):
        with pytest.raises(EpisodeOverError):
            env.step(TextArenaAction(message="[crane]"))
    with pytest.raises(UnknownResetOptionError):
        env.reset(sede=1)
    assert env.reset(seed=1).observation == first.observation


def test_actions_that_are_none_are_refused(server: ServerProcess) -> None:
    with GenericEnvClient(base_url=server.base_url) as client:
        client.reset(seed=1)
        for action in ({}, {"message": 5}, {"message": None}, {"guess": "crane"}):
            with pytest.raises(ValidationFailedError):
                client.step(action)
        assert client.step({"message": "[slate]"}).observation["guesses_left"] == 5


def test_the_secret_is_in_no_frame_and_no_log_before_the_end(server: ServerProcess) -> None:
    frames = []
    secrets = []
    with connect(server.websocket_url + "/ws", proxy=None) as socket:

        def ask(**frame: Any) -> None:
            socket.send(json.dumps(frame))
            frames.append(str(socket.recv(10)).lower())

        for seed in range(50):
            word = secret(seed)
            secrets.append(word)
            frames.clear()
            ask(type="reset", data={"seed": seed, "episode_id": "same"})
            for guess in wrong_words(word, 5):
                ask(type="step", data={"message": f"[{guess}]"})
                ask(type="state")
            ask(type="step", data={"message": "no brackets"})
            ask(type="step", data={"massage": "misspelt"})
            assert word not in "".join(frames)
    log = server.log.read_text(encoding="utf-8").lower()
    assert "websocket" in log
    assert [word for word in set(secrets) if word in log] == []


def test_a_trainers_wordle_example_call_for_call(server: ServerProcess) -> None:
    client = TextArenaEnv(base_url=server.base_url)
    told = []
    for seed in (None, 4):
        result = client.reset() if seed is None else client.reset(seed=seed)
        before = result.observation.messages[0].content
        assert "[GAME] You are Playing Wordle." in before
        for message in ("[slate]", "zzzzz", f"[{secret(4)}]"):
            result = client.step(TextArenaAction(message=message))
            whole = result.observation.messages[0].content
            assert whole.startswith(before)
            told.append((whole[len(before) :], result.reward, result.done))
            before = whole
    client.close()
    feedback, refusal, last = told[3:]
    assert "Feedback:\nS L A T E\n" in feedback[0]
    assert "You attempted an invalid move" in refusal[0]
    assert feedback[1:] == refusal[1:] == (0.0, False)
    assert "G G G G G" in last[0]
    assert last[1:] == (1.0, True)


def test_a_trainers_sudoku_example_call_for_call(sudoku_server: ServerProcess) -> None:
    client = TextArenaEnv(base_url=sudoku_server.base_url)
    result = client.reset()
    assert result.observation.messages
    text = result.observation.messages[0].content
    assert "R1" in text
    assert "R9" in text
    assert "|" in text
    result = client.step(TextArenaAction(message="[1 1 1]"))
    result = client.step(TextArenaAction(message="[1 1 1]"))
    assert "invalid move" in result.observation.messages[0].content.lower()
    client.close()


def test_the_demonstrations_solve_their_games(env: TextArenaEnv, sudoku_server: ServerProcess) -> None:
    results = list(demonstration.play(env))
    assert (results[-1].reward, results[-1].observation.success) == (1.0, True)
    assert 2 <= len(results) <= 7
    with TextArenaEnv(base_url=sudoku_server.base_url) as sudoku:
        results = list(demonstration.play(sudoku))
    assert (results[-1].reward, results[-1].observation.success) == (1.0, True)
    with _server(TEXTARENA_ENV_ID="2048-v0") as other, TextArenaEnv(base_url=other.base_url) as client:
        assert len(list(demonstration.play(client))) > 2


def test_many_sessions_side_by_side(server: ServerProcess) -> None:
    clients = [TextArenaEnv(base_url=server.base_url) for _ in range(64)]
    words = [secret(seed) for seed in range(64)]
    for seed, client in enumerate(clients):
        client.reset(seed=seed)
    for word, client in zip(words, clients, strict=True):
        assert client.step(TextArenaAction(message=f"[{word}]")).reward == 1.0
        client.close()


_PEER = """
import json, sys
from openenv.core import GenericEnvClient
with GenericEnvClient(base_url=sys.argv[1]).sync() as client:
    told = [client.reset(seed=4)]
    told += [client.step({"message": message}) for message in ("[slate]", "[zzzzz]", sys.argv[2])]
    print(json.dumps([[result.observation, result.reward, result.done] for result in told]))
    print(json.dumps(client.state()))
"""


@pytest.mark.interop
@pytest.mark.timeout(120)
def test_a_client_of_the_public_package_plays(server: ServerProcess) -> None:
    word = secret(4)
    told = subprocess.run(
        [str(peer_python()), "-c", _PEER, server.base_url, f"[{word}]"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout.splitlines()
    results, state = json.loads(told[-2]), json.loads(told[-1])
    local = TextArenaEnvironment("Wordle-v0", env_kwargs={})
    for seen, (observation, reward, done) in zip(
        episode(local, 4, ["[slate]", "[zzzzz]", f"[{word}]"]), results, strict=True
    ):
        assert (reward, done) == (seen.reward, seen.done)
        # The fields that every observation has travel beside it in the public protocol, or not at all.
        own = seen.model_dump_json(exclude={"reward", "done", "truncated", "success"})
        assert observation == json.loads(own)
    assert state.items() >= {"env_id": "Wordle-v0", "turn": 2, "step_count": 3, "raw_state": {}}.items()


@pytest.mark.parametrize(
    ("variable", "text"),
    [("TEXTARENA_ENV_ID", "Wordel-v0"), ("TEXTARENA_NUM_PLAYERS", "x"), ("TEXTARENA_KW_WORD_LENGTH", "x")],
)
def test_a_bad_variable_stops_the_server_at_its_start(variable: str, text: str) -> None:
    with pytest.raises(RuntimeError, match=f"ConfigurationError.*{variable}='{text}'"), _server(**{variable: text}):
        pass


_TRANSCRIPT = "\n[GAME] You are Playing Wordle."
_REFERENCE_REPLIES: dict[str, dict[str, Any]] = {
    "reset": {
        "observation": {
            "prompt": _TRANSCRIPT.strip(),
            "messages": [{"sender_id": -1, "content": _TRANSCRIPT, "category": "MESSAGE"}],
            "current_player_id": 0,
            "legal_players": [0],
            "info": {},
            "metadata": {"env_id": "Wordle-v0", "turn": 0, "raw_messages": []},
        },
        "reward": 0.0,
        "done": False,
    },
    "step": {
        "observation": {
            "prompt": "Wordle-v0",
            "messages": [{"content": _TRANSCRIPT + "\n[GAME] [crane]"}],
            "info": {"reward_signals": {"wordle.correct": 1.0}},
            "metadata": {"reward_signals": {"wordle.correct": 1.0}},
        },
        "reward": 1.0,
        "done": True,
        "metadata": {"reward_signals": {"wordle.correct": 1.0}},
    },
    "state": {"episode_id": "e", "step_count": 1, "raw_state": {"turn": 1, "rewards": None}},
}
"""What the public package's own TextArena server says, and less of it than it may leave out."""


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
    with TextArenaEnv(base_url=f"http://127.0.0.1:{port}") as env:
        first = env.reset()
        assert isinstance(first.observation, TextArenaObservation)
        assert (first.reward, first.done, first.observation.guess) == (0.0, False, None)
        last = env.step(TextArenaAction(message="[crane]"))
        assert (last.reward, last.done, last.observation.done) == (1.0, True, True)
        assert last.observation.messages == [
            TextArenaMessage(sender_id=-1, content=_TRANSCRIPT + "\n[GAME] [crane]", category="MESSAGE")
        ]
        assert last.observation.info["reward_signals"] == {"wordle.correct": 1.0}
        assert env.state() == TextArenaState(
            episode_id="e", step_count=1, env_id="unknown", num_players=1, raw_state={"turn": 1, "rewards": None}
        )
    step = next(frame for frame in received if frame["type"] == "step")
    assert step["data"]["message"] == "[crane]"


def test_fields_and_their_order_are_those_of_the_public_package() -> None:
    environment = TextArenaEnvironment("Wordle-v0", env_kwargs={})
    hide(environment, "crane")
    told = json.loads(act(environment, "[slate]").model_dump_json())
    public = ["prompt", "messages", "current_player_id", "legal_players", "info"]
    assert [name for name in told if name in public] == public
    assert list(told["messages"][0]) == ["sender_id", "content", "category"]
    assert set(told["metadata"]) == {"env_id", "turn", "raw_messages", "reward_signals"}
    assert told["metadata"]["raw_messages"] == told["messages"]
    state = ["env_id", "num_players", "max_turns", "turn", "last_reward", "last_info", "raw_state"]
    assert [name for name in environment.state.model_dump() if name in state] == state
