"""Sessions do not touch each other, the process, or the network."""

import json
import pickle
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

from tests.envs.textarena_play import act, episode, run_python, secret_of
from textarena_env_server import TextArenaEnvironment, spec
from textarena_env_server.library import library
from textarena_env_server.randomness import Source

_PLAYED = {
    "Wordle-v0": ["[slate]", "[crane]", "[about]"],
    "Sudoku-v0": ["[1 1 1]"],
    "2048-v0": ["[Up]", "[Left]", "[Down]", "[Right]", "[Up]", "[Left]"],
    "Minesweeper-v0": ["[4 4]", "[0 0]", "[7 7]"],
    "Blackjack-v0": ["[Hit]", "[Stand]", "[Hit]", "[Stand]"],
    "Bandit-v0": ["[red]", "[blue]", "[red]"],
    "RushHour-v0": ["[A+]"],
    "ThreeCardMonte-v0": ["[1]"],
    "Sokoban-v0": ["[up]"],
}
"""Games with moves."""


def process_wide() -> bytes:
    """The state of the generators that everybody in the process shares."""
    return pickle.dumps((random.getstate(), numpy.random.get_state()))


def trace(env_id: str, seed: int) -> list[str]:
    """All that an episode tells."""
    environment = TextArenaEnvironment(env_id, env_kwargs={})
    return [seen.model_dump_json() for seen in episode(environment, seed, _PLAYED[env_id])]


@pytest.mark.parametrize("env_id", _PLAYED)
def test_the_process_wide_generators_are_neither_seeded_nor_drawn_from(env_id: str) -> None:
    environment = TextArenaEnvironment(env_id, env_kwargs={})
    before = process_wide()
    # Without a seed, building a room or a jam may take many seconds.
    for seed in (1,) if env_id in ("RushHour-v0", "Sokoban-v0") else (1, None):
        environment.reset(seed=seed)
        for move in _PLAYED[env_id]:
            assert process_wide() == before
            if act(environment, move).done:
                break
        assert process_wide() == before


def test_drawing_from_them_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the process-wide generator was used")

    for name in ("random", "choice", "choices", "randint", "sample", "shuffle", "uniform", "randrange", "seed"):
        monkeypatch.setattr(random, name, refuse)
    for env_id in _PLAYED:
        trace(env_id, 1)


def test_a_game_cannot_draw_outside_of_a_call() -> None:
    draw = library().load("textarena.envs.Wordle.env").random
    with pytest.raises(RuntimeError, match="outside of a session's call"):
        draw.random()
    with Source(1):
        with Source(2):
            assert draw.random() == random.Random(2).random()
        assert draw.random() == random.Random(1).random()


def test_numpys_legacy_generator_is_the_sessions_own() -> None:
    numpy_of_games = library().load("numpy")
    before = process_wide()
    with Source(5):
        first = numpy_of_games.random.randint(0, 10**6)
    with Source(5):
        assert numpy_of_games.random.randint(0, 10**6) == first
        assert numpy_of_games.random.default_rng(3).integers(9) == numpy.random.default_rng(3).integers(9)
    assert process_wide() == before
    assert numpy_of_games.zeros(2).sum() == 0.0


def test_sessions_that_interleave_do_not_disturb_each_other() -> None:
    alone = {env_id: trace(env_id, 3) for env_id in ("2048-v0", "Minesweeper-v0", "Blackjack-v0", "Bandit-v0")}
    for env_id, expected in alone.items():
        environment, other = (TextArenaEnvironment(env_id, env_kwargs={}) for _ in range(2))
        told = [environment.reset(seed=3).model_dump_json()]
        for move in _PLAYED[env_id][: len(expected) - 1]:
            other.reset(seed=9)
            act(other, _PLAYED[env_id][0])
            told.append(act(environment, move).model_dump_json())
        assert told == expected


def test_seeded_sessions_in_threads_equal_their_single_runs_beside_unseeded_ones() -> None:
    env_ids = ["Wordle-v0", "2048-v0", "Minesweeper-v0", "Sudoku-v0"]
    jobs = [(env_ids[number % 4], number) for number in range(16)]
    alone = [trace(*job) for job in jobs]
    old = sys.getswitchinterval()
    gate = threading.Barrier(32)
    words: list[str] = []

    def seeded(job: tuple[str, int]) -> list[list[str]]:
        gate.wait(20)
        return [trace(*job) for _ in range(5)]

    def unseeded() -> None:
        environment = TextArenaEnvironment("Wordle-v0", env_kwargs={})
        gate.wait(20)
        for _ in range(20):
            environment.reset()
            words.append(secret_of(environment))

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(32) as pool:
            others = [pool.submit(unseeded) for _ in range(16)]
            together = [pool.submit(seeded, job) for job in jobs]
            for expected, future in zip(alone, together, strict=True):
                assert future.result(60) == [expected] * 5
            for future_of_other in others:
                future_of_other.result(60)
    finally:
        sys.setswitchinterval(old)
    assert len(set(words)) > 100


def test_unseeded_games_do_not_follow_the_process_wide_seed() -> None:
    environment = TextArenaEnvironment("Wordle-v0", env_kwargs={})
    state = random.getstate()
    found = set()
    for _ in range(12):
        random.setstate(state)
        environment.reset()
        found.add(secret_of(environment))
    assert len(found) > 6


_SECRETS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from textarena_env_server import TextArenaEnvironment
from tests.envs.textarena_play import secret_of
environment = TextArenaEnvironment("Wordle-v0")
found = []
for seed in range(20):
    environment.reset(seed=seed)
    found.append(secret_of(environment))
print(json.dumps(found))
"""


def test_a_seed_hides_the_same_word_in_every_process() -> None:
    here = str(__file__).rpartition("/")[0]
    environment = TextArenaEnvironment("Wordle-v0", env_kwargs={})
    found = []
    for seed in range(20):
        environment.reset(seed=seed)
        found.append(secret_of(environment))
    assert json.loads(run_python(_SECRETS, here, environment={"PYTHONHASHSEED": "5"})) == found
    assert len(set(found)) > 10


_OFFLINE = """
import socket, sys
def refuse(*arguments, **options):
    raise AssertionError(f"the network was used: {arguments}")
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse
socket.socket.connect = socket.socket.connect_ex = refuse
from textarena_env import TextArenaAction
from textarena_env_server import TextArenaEnvironment, runnable_games
import textarena_env_server.app
games = runnable_games()
environments = [TextArenaEnvironment("Wordle-v0") for _ in range(8)]
for environment in environments:
    environment.reset()
    environment.step(TextArenaAction(message="[crane]"))
for env_id in ("Hangman-v0", "WordSearch-v0", "WordLadder-v0", "Crosswords-v0", "Sudoku-v0"):
    TextArenaEnvironment(env_id).reset(seed=1)
loaded = {"nltk", "openai", "textarena", "torch", "requests"} & set(sys.modules)
assert not loaded, loaded
assert sum(game.runs for game in games) > 40
"""


def test_nothing_reaches_for_the_network_or_prints() -> None:
    # The data folders of an installed NLTK are out of reach, too.
    assert run_python(_OFFLINE, environment={"NLTK_DATA": "/nonexistent", "HOME": "/nonexistent"}) == ""


def test_sessions_share_the_dictionary() -> None:
    environments = [spec.factory() for _ in range(3)]
    for environment in environments:
        environment.reset(seed=1)
    games = [environment._transcript.game for environment in environments]
    assert len({id(game.word_list) for game in games}) == 1
    assert games[0] is not games[1]
