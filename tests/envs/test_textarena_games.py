"""The other games: played as the library plays them, but for its faults."""

import contextlib
import io
import json
import random
from collections.abc import Iterator, Sequence

import pytest

from openenv_core.errors import ConfigurationError, EnvironmentFailedError, EpisodeNotStartedError
from tests.envs.textarena_play import act, episode, game_of, play_original, run_python
from textarena_env import TextArenaObservation
from textarena_env_server import GameStatus, TextArenaEnvironment, runnable_games
from textarena_env_server.library import library
from textarena_env_server.players import read_board, sample_move, solve_sudoku
from textarena_env_server.randomness import Source
from textarena_env_server.words import common_words

_SLOW = ("RushHour-v0", "Sokoban-v0", "Sokoban-v0-medium", "Sudoku-v0-hard")
_MENDED = ("Bandit", "Countdown", "Cryptarithm", "Slitherlink", "ThreeCardMonte", "WordLadder")
"""Games whose transcript or reward differs from the library's on purpose."""

_JUNK = (
    "",
    "[]",
    "][",
    "junk",
    "[12345]",
    "[a_b_c]",
    "[1 2 3]",
    "[A B] [B C] [A C]",
    "[1 1 a] [2 2 b] [0 0 c]",
    "[0 0 0 5] [1 1 1 6]",
    "[" + "9" * 5000 + "]",
    "[-1 -1]",
    "[\xe9] [\u0661 \u0661 \u0661]",
    "[\x00]",
    "<think>[up]",
    "x" * 10_000,
)


@pytest.fixture(scope="module")
def games() -> tuple[GameStatus, ...]:
    return runnable_games()


def quick(games: tuple[GameStatus, ...]) -> list[str]:
    return [game.env_id for game in games if game.runs and game.env_id not in _SLOW]


def played(
    env_id: str, seed: int, *, junk: float, length: int, kinds: Sequence[str] = _JUNK
) -> tuple[list[TextArenaObservation], list[str]]:
    """An episode of sampled moves with some junk among them, and its moves."""
    choose = random.Random(seed)
    environment = TextArenaEnvironment(env_id, env_kwargs={})
    seen = [environment.reset(seed=seed)]
    moves: list[str] = []
    while not seen[-1].done and len(moves) < length:
        moves.append(choose.choice(kinds) if choose.random() < junk else sample_move(seen[-1], choose))
        seen.append(act(environment, moves[-1]))
    return seen, moves


def test_the_list_tells_what_runs_and_why_the_rest_does_not(games: tuple[GameStatus, ...]) -> None:
    by_id = {game.env_id: game for game in games}
    families = {game.env_id.partition("-")[0] for game in games if game.runs}
    assert len(families) >= 25
    assert {"Wordle", "Sudoku", "2048", "Hangman", "WordLadder", "WordSearch", "Sokoban"} <= families
    assert "remote" in by_id["GuessWho-v0"].note
    assert not by_id["TwentyQuestions-v0"].runs
    for game in games:
        assert game.runs or game.note
        assert "\n" not in game.note
        if not game.runs:
            with pytest.raises(ConfigurationError, match="TEXTARENA_ENV_ID"):
                TextArenaEnvironment(game.env_id)._recipe.try_build()


def test_episodes_are_those_of_the_library_itself(games: tuple[GameStatus, ...]) -> None:
    chosen = [env_id for env_id in quick(games) if env_id.endswith("-v0") and not env_id.startswith(_MENDED)]
    named = ["Wordle-v0", "Sudoku-v0", "2048-v0", "GuessTheNumber-v0", "Minesweeper-v0"]
    assert set(named) <= set(chosen)
    starts = [*((env_id, 1) for env_id in chosen), ("RushHour-v0", 1), ("Sokoban-v0", 2)]
    starts += [(env_id, seed) for env_id in named for seed in (2, 3)]
    ours = [(*start, *played(*start, junk=0.1, length=20, kinds=("junk", "[]"))) for start in starts]
    theirs = play_original([(env_id, seed, moves) for env_id, seed, _, moves in ours])
    for (env_id, seed, seen, _), original in zip(ours, theirs, strict=True):
        transcripts = [observation.messages[0].content for observation in seen]
        assert len(transcripts) == len(original["seen"]), (env_id, seed)
        # The closing words, which the library does not say, come on top.
        assert transcripts[-1].startswith(original["seen"][-1]), (env_id, seed)
        transcripts[-1] = original["seen"][-1]
        assert transcripts == original["seen"], (env_id, seed)
        assert seen[-1].done == original["done"]
        if original["rewards"] is not None:
            assert seen[-1].reward == original["rewards"]["0"], (env_id, seed)


def test_no_message_crashes_a_game(games: tuple[GameStatus, ...]) -> None:
    for env_id in quick(games):
        for ending in ("", "-raw", "-train"):
            seen, _ = played(env_id + ending, 3, junk=0.4, length=25)
            for observation in seen:
                assert observation.prompt
                assert type(observation.reward) is float
                assert any(message.content for message in observation.messages)
            assert seen[-1].success in (None, True, False)


def test_transcripts_only_grow_and_the_delta_is_what_they_grow_by(games: tuple[GameStatus, ...]) -> None:
    for env_id in quick(games):
        seen, _ = played(env_id, 4, junk=0.2, length=10)
        before = ""
        for observation in seen:
            assert len(observation.messages) == 1
            assert observation.messages[0].content == before + observation.delta
            assert observation.prompt == seen[0].messages[0].content.strip()
            before = observation.messages[0].content


_TRACES = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
from textarena_env_server import TextArenaEnvironment
from tests.envs.textarena_play import act
found = {}
for env_id, seed, moves in json.load(sys.stdin):
    environment = TextArenaEnvironment(env_id, env_kwargs={})
    told = [environment.reset(seed=seed).model_dump_json()]
    told += [act(environment, move).model_dump_json() for move in moves]
    found[f"{env_id} {seed}"] = hashlib.sha256("".join(told).encode()).hexdigest()
print(json.dumps(found))
"""


def test_a_seed_fixes_an_episode_in_every_process(games: tuple[GameStatus, ...]) -> None:
    several = {
        "Crosswords-v0": ["[0 0 a] [1 5 b] [6 2 c] [2 4 e]"],
        "WordSearch-v0": ["[0 0 0 5] [1 1 1 6] [2 2 2 7]"],
        "LogicPuzzle-v0": ["[alice park X] [bob park O] [carol zoo X]"],
    }
    order = []
    for env_id in quick(games):
        moves = several.get(env_id) or played(env_id, 7, junk=0.1, length=10)[1]
        order.append((env_id, 7, moves))
    here = str(__file__).rpartition("/")[0]
    traces = [
        run_python(_TRACES, here, environment={"PYTHONHASHSEED": hash_seed}, feed=json.dumps(order))
        for hash_seed in ("1", "2")
    ]
    assert traces[0] == traces[1]
    assert len(json.loads(traces[0])) == len(order)


def test_seeds_differ(games: tuple[GameStatus, ...]) -> None:
    for env_id in ("Sudoku-v0", "2048-v0", "Hangman-v0", "Minesweeper-v0", "Bandit-v0", "Blackjack-v0", "Set-v0"):
        environment = TextArenaEnvironment(env_id, env_kwargs={})
        move = {"Minesweeper-v0": "[2 2]", "Bandit-v0": "[red]"}.get(env_id, "[up]")
        starts = {episode(environment, seed, [move])[-1].messages[0].content for seed in range(12)}
        assert len(starts) > 1, env_id


@pytest.mark.parametrize(
    ("env_id", "junk"),
    [
        ("Countdown-v0", "[9 9 +]"),
        ("Cryptarithm-v0", "[Q 5]"),
        ("Slitherlink-v0", "[h 99 99]"),
        ("ThreeCardMonte-v0", "[7]"),
    ],
)
def test_swapped_reward_and_reason_are_put_right(env_id: str, junk: str) -> None:
    environment = TextArenaEnvironment(env_id, env_kwargs={})
    _, once, twice = episode(environment, 1, [junk, junk])
    assert not once.done
    assert isinstance(once.info["invalid_reason"], str)
    assert once.info["invalid_reason"] in once.delta
    assert not once.info["invalid_reason"].replace(".", "").isdigit()
    if env_id != "ThreeCardMonte-v0":
        assert f"[Player] {junk}" in once.delta
    assert (twice.done, twice.success) == (True, False)
    assert type(twice.reward) is float
    assert 0.0 <= twice.reward < 1.0


def test_the_best_button_of_the_bandit_is_the_best() -> None:
    rewards = {}
    for button in ("red", "blue", "green", "yellow", "purple"):
        environment = TextArenaEnvironment("Bandit-v0", env_kwargs={})
        environment.reset(seed=3)
        means = dict(game_of(environment).state.game_state["ground_truth"])
        for _ in range(21):
            seen = act(environment, f"[{button}]")
        assert seen.done
        rewards[button] = (seen.reward, seen.success)
    best = max(means, key=lambda button: means[button])
    assert rewards.pop(best) == (1.0, True)
    for button, (reward, success) in rewards.items():
        assert reward == pytest.approx(means[button] - means[best])
        assert success is False


def test_the_fifteen_puzzle_can_be_solved() -> None:
    environment = TextArenaEnvironment("FifteenPuzzle-v0", env_kwargs={})
    environment.reset(seed=1)
    game_of(environment).board = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, None, 15]]
    seen = act(environment, "[left]")
    assert (seen.done, seen.reward, seen.success) == (True, 1.0, True)


def test_a_sudoku_is_solved_from_what_is_shown() -> None:
    environment = TextArenaEnvironment("Sudoku-v0", env_kwargs={})
    seen = environment.reset(seed=5)
    while not seen.done:
        board = read_board(seen.delta)
        assert board is not None
        solved = solve_sudoku(board)
        assert solved is not None
        row, column = next((r, c) for r in range(9) for c in range(9) if not board[r][c])
        seen = act(environment, f"[{row + 1} {column + 1} {solved[row][column]}]")
        assert seen.valid
        assert seen.guess == f"{row + 1} {column + 1} {solved[row][column]}"
    assert (seen.reward, seen.success) == (1.0, True)


def test_a_worst_play_of_sudoku_pays_nothing() -> None:
    environment = TextArenaEnvironment("Sudoku-v0", env_kwargs={})
    seen = episode(environment, 5, ["[1 1 9]", "[1 1 9]", "[1 1 9]"])
    assert (len(seen), seen[-1].reward, seen[-1].success) == (3, 0.0, False)


@pytest.mark.parametrize(
    ("env_id", "shortest", "longest"),
    [("WordLadder-v0", 5, 7), ("WordLadder-v0-medium", 8, 12), ("WordLadder-v0-hard", 13, 15)],
)
def test_the_ends_of_a_word_ladder_are_as_far_apart_as_they_should_be(env_id: str, shortest: int, longest: int) -> None:
    environment = TextArenaEnvironment(env_id, env_kwargs={})
    for seed in range(5):
        environment.reset(seed=seed)
        game = game_of(environment)
        words = common_words(len(game.start_word))
        reached, steps = {game.start_word}, 0
        while game.target_word not in reached:
            reached |= {word for word in words if any(game._one_letter_diff(word, other) for other in reached)}
            steps += 1
        assert shortest <= steps <= longest


def test_a_ladder_that_cannot_be_is_refused_and_not_looked_for_without_end() -> None:
    environment = TextArenaEnvironment("WordLadder-v0", env_kwargs={"min_distance": 40, "max_distance": 50})
    with pytest.raises(ConfigurationError, match="40 to 50 steps"):
        environment.reset(seed=1)


def test_a_game_that_draws_without_end_is_stopped() -> None:
    draw = library().load("textarena.envs.Wordle.env").random

    def forever() -> None:
        while True:
            draw.random()

    with pytest.raises(EnvironmentFailedError, match=r"0\.05 s of processor time"), Source(1, cpu_limit_s=0.05):
        forever()


def test_a_game_that_raised_is_not_played_on(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = TextArenaEnvironment("Hangman-v0", env_kwargs={})
    environment.reset(seed=1)

    def fail(action: str) -> None:
        raise LookupError("broken")

    monkeypatch.setattr(game_of(environment), "step", fail)
    with pytest.raises(LookupError):
        act(environment, "[a]")
    with pytest.raises(EpisodeNotStartedError):
        act(environment, "[a]")
    assert environment.reset(seed=1).reward == 0.0


def test_a_lost_game_is_no_success_even_if_it_pays_one() -> None:
    environment = TextArenaEnvironment("2048-v0-ultra-easy", env_kwargs={})
    environment.reset(seed=1)
    state = game_of(environment).state
    state.game_state.update(board=[[2, 8, 2, 8], [8, 2, 8, 16], [2, 8, 2, 8], [8, 16, 8, 0]], score=10**6)
    while True:
        seen = act(environment, "[right]")
        if seen.done:
            break
    assert (seen.reward, seen.success) == (1.0, False)


def test_points_are_no_success() -> None:
    environment = TextArenaEnvironment("Blackjack-v0", env_kwargs={})
    seen = episode(environment, 1, ["[Stand]"] * 5)[-1]
    assert seen.done
    assert seen.success is None
    assert episode(environment, 1, ["[x]", "[x]"])[-1].success is False


def test_refusals_are_told_to_players_of_the_training_text() -> None:
    environment = TextArenaEnvironment("Wordle-v0-train", env_kwargs={})
    _, seen, valid = episode(environment, 1, ["[zzzzz]", "[slate]"])
    assert [message.category for message in seen.messages] == ["MESSAGE", "GAME_ADMIN"]
    assert "not an English word" in seen.messages[1].content
    assert "not an English word" in seen.delta
    assert len(valid.messages) == 1


def test_raw_games_send_what_is_new_one_by_one() -> None:
    environment = TextArenaEnvironment("Wordle-v0-raw", env_kwargs={})
    start, seen = episode(environment, 1, ["[slate]"])
    assert [(message.sender_id, message.category) for message in start.messages] == [(-1, "PROMPT")]
    assert start.prompt == seen.prompt == start.messages[0].content.strip()
    assert [message.category for message in seen.messages] == ["PLAYER_ACTION", "GAME_MESSAGE"]
    assert seen.metadata["raw_messages"] == [message.model_dump() for message in seen.messages]


def test_two_players_at_one_client() -> None:
    environment = TextArenaEnvironment("TicTacToe-v0", num_players=2, env_kwargs={})
    start, *rest = episode(environment, 1, ["[0]", "[1]", "[4]", "[2]", "[8]"])
    assert start.legal_players == [0, 1]
    assert [seen.current_player_id for seen in rest] == [1, 0, 1, 0, 0]
    assert (rest[-1].done, rest[-1].reward, rest[-1].success) == (True, 1.0, None)


@pytest.fixture
def silence() -> Iterator[io.StringIO]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out


def test_games_print_nothing(silence: io.StringIO) -> None:
    for env_id in ("WordSearch-v0", "LogicPuzzle-v0", "RushHour-v0"):
        played(env_id, 1, junk=0.2, length=5)
    assert silence.getvalue() == ""
