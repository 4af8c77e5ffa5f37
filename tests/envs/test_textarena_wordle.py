"""Wordle: feedback, rewards, what is told and what is kept secret."""

import itertools
import json
import random
from collections import Counter

import pytest

from openenv_core.errors import EpisodeNotStartedError, EpisodeOverError
from tests.envs.textarena_play import act, episode, game_of, hide, secret_of, wrong_words
from textarena_env import TextArenaAction
from textarena_env_server import TextArenaEnvironment, spec
from textarena_env_server.players import WordleSolver, marks
from textarena_env_server.words import allowed_words, common_words, is_allowed


@pytest.fixture
def wordle() -> TextArenaEnvironment:
    return TextArenaEnvironment("Wordle-v0", env_kwargs={})


def oracle(guess: str, secret: str) -> str:
    """Wordle's rule, stated by counting: a letter is yellow as often as the secret has it beyond its greens."""
    found = []
    for place, letter in enumerate(guess):
        if secret[place] == letter:
            found.append("G")
            continue
        greens = sum(a == b == letter for a, b in zip(guess, secret, strict=True))
        earlier = sum(guess[i] == letter and secret[i] != letter for i in range(place))
        found.append("Y" if earlier < secret.count(letter) - greens else "X")
    return "".join(found)


def test_the_oracle_knows_the_textbook_cases() -> None:
    assert oracle("slate", "crane") == "XXGXG"
    assert oracle("allay", "label") == "YYYXX"
    assert oracle("eerie", "there") == "YXYXG"
    assert oracle("geese", "there") == "XXGXG"


def test_feedback_agrees_with_the_oracle_on_a_hundred_thousand_pairs(wordle: TextArenaEnvironment) -> None:
    wordle.reset(seed=1)
    game = game_of(wordle)
    doubled = [word for word in allowed_words(5) if len(set(word)) < 5]
    chosen = random.Random(1)
    guesses = chosen.sample(doubled, 100) + chosen.sample(allowed_words(5), 40)
    for secret, guess in itertools.product(common_words(5), guesses):
        game.state.game_state["secret_word"] = secret
        expected = oracle(guess, secret)
        assert "".join(game._evaluate_guess(guess)) == expected, (guess, secret)
        assert marks(guess, secret) == expected


def test_observed_feedback_is_that_of_the_guess_also_when_it_is_the_last(wordle: TextArenaEnvironment) -> None:
    chosen = random.Random(2)
    for secret in chosen.sample(common_words(5), 60):
        hide(wordle, secret)
        guesses = chosen.sample(wrong_words(secret, 400), 6)
        for number, guess in enumerate(guesses, 1):
            seen = act(wordle, f"[{guess}]")
            expected = oracle(guess, secret)
            assert (seen.guess, seen.valid, seen.feedback) == (guess, True, expected)
            assert seen.guesses_left == 6 - number
            assert seen.delta in seen.messages[0].content
            assert f"{' '.join(guess.upper())}\n{' '.join(expected)}\n" in seen.delta
            signals = seen.info["reward_signals"]
            counts = Counter(expected)
            assert signals["wordle.greens"] == counts["G"] / 5
            assert signals["wordle.yellows"] == counts["Y"] / 5
            assert signals["wordle.repetitions"] == 1.0
            assert signals == seen.metadata["reward_signals"]
        assert (seen.done, seen.truncated, seen.success) == (True, False, False)
        assert seen.reward is not None
        assert seen.reward == pytest.approx((counts["G"] + counts["Y"] / 2) / 5)
        assert signals["wordle.correct"] == seen.reward
        assert secret in seen.info["reason"]
        assert f"{round(seen.reward * 100)}%" in seen.info["reason"]
        assert "best guess" not in seen.delta


def test_a_win_pays_exactly_one_and_shows_its_feedback(wordle: TextArenaEnvironment) -> None:
    solved = 0
    for seed in range(25):
        solver = WordleSolver()
        seen = wordle.reset(seed=seed)
        while not seen.done:
            assert seen.reward == 0.0
            assert seen.success is None
            guess = solver.guess()
            seen = act(wordle, f"[{guess}]")
            assert seen.feedback is not None
            solver.learn(guess, seen.feedback)
        if seen.feedback == "GGGGG":
            solved += 1
            assert (seen.reward, type(seen.reward), seen.success) == (1.0, float, True)
            assert "\nG G G G G\nYou have " in seen.delta
            assert seen.info["reward_signals"]["wordle.greens"] == 1.0
        else:
            assert seen.success is False
            assert seen.reward is not None
            assert seen.reward < 1.0
    assert solved >= 20


def test_every_hidden_word_can_be_guessed_and_wins(wordle: TextArenaEnvironment) -> None:
    assert len(common_words(5)) > 300
    for word in common_words(5):
        hide(wordle, word)
        seen = act(wordle, f"[{word.upper()}]")
        assert (seen.valid, seen.done, seen.reward, seen.success) == (True, True, 1.0, True)


_COMMON = """
about above apple beach black bread chair cheer clean crane cloud dance dream earth eight field flame fresh fruit
ghost grape green happy heart horse house juice knife known laugh light lucky magic money month mouse music night
ocean other paint paper party peace phone piano pizza plant queen quick quiet river robot round salad salsa scarf
sheep shirt shoes sleep smile snake spoon stair stone storm sugar sweet table teeth thank tiger toast train truck
uncle under value video voice watch water whale wheel white woman world would write wrong young zebra slate adieu
tares audio raise stare games words plays tyres
"""


def test_common_words_are_accepted_and_nonsense_is_refused() -> None:
    assert len(_COMMON.split()) >= 100
    assert [word for word in _COMMON.split() if not is_allowed(word)] == []
    letters = random.Random(5)
    nonsense = {"".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(100)}
    assert [word for word in nonsense if is_allowed(word)] == []
    assert not any(map(is_allowed, ["gooded", "runned", "xqzzy", "aaaaa", "", "12345", "a_b_c", "CRANE"]))


def test_every_list_is_clean() -> None:
    assert set(common_words()) <= set(allowed_words())
    assert len(set(allowed_words())) == len(allowed_words())
    assert all(word.isascii() and word.isalpha() and word.islower() for word in allowed_words())


@pytest.mark.parametrize(
    ("message", "guess", "valid"),
    [
        ("[crane]", "crane", True),
        ("[CRANE]", "crane", True),
        ("crane", "crane", True),
        ("**crane**.", "crane", True),
        ("I'd say [ crane ].", "crane", True),
        ("<think>maybe [banana]</think> [crane]", "crane", True),
        ("<THINK>maybe [table]</THINK>\n[slate] no, [crane]", "crane", True),
        ("maybe [table] </think> [crane]", "crane", True),
        ("[crane] <think> or [table]", "crane", True),
        ("<think> all [crane]", None, False),
        ("<think>[crane]</think>", None, False),
        ("[12345]", "12345", False),
        ("[a_b_c]", "a_b_c", False),
        ("[cranes]", "cranes", False),
        ("[zzzzz]", "zzzzz", False),
        ("", None, False),
        ("[]", None, False),
        ("my guess is crane", None, False),
        ("[GAME]", "game", False),
        ("[[[[[", None, False),
        ("[" + "9" * 6000 + "]", None, False),
    ],
)
def test_what_is_read_from_a_message(
    wordle: TextArenaEnvironment, message: str, guess: str | None, valid: bool
) -> None:
    before = hide(wordle, "about")
    seen = act(wordle, message)
    if guess is not None or len(message) < 100:
        assert seen.guess == guess
    assert (seen.valid, seen.done, seen.reward) == (valid, False, 0.0)
    assert seen.guesses_left == (5 if valid else 6)
    assert (seen.feedback is None) is not valid
    assert ("invalid_reason" in seen.info) is not valid
    assert ("You attempted an invalid move" in seen.delta) is not valid
    assert seen.messages[0].content == before.messages[0].content + seen.delta
    assert seen.delta.startswith(f"\n[GAME] {'[game]' if guess == 'game' else ''}")
    if not valid:
        assert seen.info["reward_signals"]["wordle.greens"] == seen.info["reward_signals"]["wordle.yellows"] == 0.0


def test_breaking_the_rules_twice_loses_even_with_a_good_guess_behind(wordle: TextArenaEnvironment) -> None:
    hide(wordle, "crane")
    assert act(wordle, "[crate]").reward == 0.0
    assert not act(wordle, "[crate]").done
    seen = act(wordle, "[zzzzz]")
    assert (seen.done, seen.valid, seen.success) == (True, False, False)
    assert seen.reward == 0.8
    assert seen.info["reason"] == "Invalid Move: 'zzzzz' is not an English word."
    assert "'zzzzz' is not an English word." in seen.delta
    assert "crane" not in seen.model_dump_json()


def test_repetitions_count_every_try(wordle: TextArenaEnvironment) -> None:
    hide(wordle, "crane")
    scores = [
        act(wordle, message).info["reward_signals"]["wordle.repetitions"]
        for message in ("[slate]", "[slate]", "[about]", "junk words", "[about]")
    ]
    assert scores == [1.0, 0.0, 1.0, 0.0, 0.0]


def test_nothing_is_played_before_a_reset_or_after_the_end(wordle: TextArenaEnvironment) -> None:
    with pytest.raises(EpisodeNotStartedError):
        act(wordle, "[crane]")
    hide(wordle, "crane")
    for guess in wrong_words("crane", 6):
        lost = act(wordle, f"[{guess}]")
    assert lost.done
    for _ in range(2):
        with pytest.raises(EpisodeOverError):
            act(wordle, "[crane]")
    assert wordle.state.last_reward == lost.reward
    assert wordle.state.step_count == 6
    assert not wordle.reset(seed=1).done


def test_the_secret_is_in_nothing_that_is_told_before_the_end(wordle: TextArenaEnvironment) -> None:
    for seed in range(50):
        told = [wordle.reset(seed=seed).model_dump_json()]
        secret = secret_of(wordle)
        messages = [f"[{word}]" for word in wrong_words(secret, 5)]
        for message in [*messages[:2], "[zzzzz]", *messages[2:], "no brackets here"]:
            seen = act(wordle, message)
            told += [seen.model_dump_json(), wordle.state.model_dump_json(), repr(seen), repr(wordle.state)]
            assert not seen.done
        assert secret not in "".join(told).lower()
        assert wordle.state.raw_state == {}


def test_no_hidden_word_is_spelled_by_what_every_game_tells(wordle: TextArenaEnvironment) -> None:
    for env_id in ("Wordle-v0", "Wordle-v0-long", "Wordle-v0-raw", "Wordle-v0-train"):
        environment = TextArenaEnvironment(env_id, env_kwargs={})
        told = [observation.model_dump_json() for observation in episode(environment, 0, ["[zzzzz]", "[x]"])]
        told.append(environment.state.model_dump_json())
        text = "".join(told).lower()
        assert [word for word in common_words(5) + common_words(7) if word in text] == []


def test_a_hundred_resets_start_from_nothing(wordle: TextArenaEnvironment) -> None:
    lengths = set()
    for seed in range(100):
        seen = wordle.reset(seed=seed)
        text = seen.prompt + "".join(message.content for message in seen.messages)
        lengths.add(len(text))
        assert "slate" not in seen.model_dump_json()
        assert "slate" not in wordle.state.model_dump_json()
        assert seen.messages[0].content == seen.delta
        act(wordle, "[slate]")
        assert wordle.state.step_count == 1
    assert len(lengths) == 1


def test_a_seed_fixes_the_word_and_no_seed_fixes_nothing(wordle: TextArenaEnvironment) -> None:
    def words(seeds: list[int | None]) -> list[str]:
        found = []
        for seed in seeds:
            wordle.reset(seed=seed)
            found.append(secret_of(wordle))
        return found

    seeded = words([*range(20)])
    assert seeded == words([*range(20)])
    assert len(set(seeded)) > 10
    assert len(set(words([None] * 20))) > 10


def test_other_lengths_and_limits() -> None:
    environment = TextArenaEnvironment("Wordle-v0", env_kwargs={"word_length": "7", "num_guesses": "2"})
    seen = environment.reset(seed=1)
    assert seen.guesses_left == 2
    assert "7-letter" in seen.prompt
    secret = secret_of(environment)
    assert len(secret) == 7
    seen = act(environment, f"[{secret}]")
    assert (seen.reward, seen.feedback, seen.guesses_left) == (1.0, "GGGGGGG", 1)


def test_sampled_actions_are_legal(wordle: TextArenaEnvironment) -> None:
    assert spec.sample_action is not None
    choose = random.Random(1)
    seen = wordle.reset(seed=1)
    while not seen.done:
        action = spec.sample_action(seen, choose)
        assert isinstance(action, TextArenaAction)
        seen = wordle.step(action)
        assert seen.valid


def test_everything_that_is_told_goes_through_json_unchanged(wordle: TextArenaEnvironment) -> None:
    for seen in episode(wordle, 3, ["[slate]", "junk", "[crane]"]):
        assert type(seen).model_validate(json.loads(seen.model_dump_json())) == seen
    assert type(wordle.state).model_validate_json(wordle.state.model_dump_json()) == wordle.state
