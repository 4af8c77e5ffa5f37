"""Reading moves out of text: a pure function, so driven by generated text as well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textarena_env_server.moves import read_move, without_reasoning

_PLAIN = st.text(alphabet=st.characters(blacklist_characters="<>[]", max_codepoint=0x2FF), max_size=40)
_WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)


@given(before=_PLAIN, thought=_PLAIN, word=_WORD, after=_PLAIN, earlier=_WORD)
def test_the_last_bracket_outside_of_reasoning_counts(
    before: str, thought: str, word: str, after: str, earlier: str
) -> None:
    message = f"{before}[{earlier}]<think>{thought}[{earlier}]</think>[{word}]{after}<thinking>[{earlier}]"
    assert read_move("Wordle", message) == (f"[{word}]", word)


@given(st.text(alphabet="<>/[]thinkreasoning \n19", max_size=80), st.sampled_from(["Wordle", "Sudoku", "WordSearch"]))
def test_any_text_gives_a_move_or_none(message: str, family: str) -> None:
    move = read_move(family, message)
    assert move.guess is None or move.text == f"[{move.guess}]" or move.text.lower() == f"[{move.guess}]"
    assert len(without_reasoning(message)) <= len(message)


@pytest.mark.parametrize(
    ("family", "message", "text", "guess"),
    [
        ("Sudoku", "R1C2 is 4, so [1 2 4] and not [2 2].", "[1 2 4]", "1 2 4"),
        ("Sudoku", "1 2 4", "[1 2 4]", "1 2 4"),
        ("Sudoku", "[ 1  2\t4 ]", "[1 2 4]", "1 2 4"),
        ("Sudoku", "[1 2]", "[1 2]", None),
        ("Game2048", "[Up] would be worse; [Left]", "[Left]", "left"),
        ("Countdown", "0 1 *", "[0 1 *]", "0 1 *"),
        ("RushHour", "[A+] [B-]", "[B-]", "b-"),
        ("Mastermind", "[1 2 3 4]", "[1 2 3 4]", "1 2 3 4"),
        ("TowerOfHanoi", "<think>[A B]</think>[A C] [B C]", "[A C] [B C]", None),
        ("Unheard", "anything [x]", "anything [x]", None),
        ("GuessTheNumber", f"[{'9' * 5000}]", "[999999999]", None),
    ],
)
def test_other_games(family: str, message: str, text: str, guess: str | None) -> None:
    assert read_move(family, message) == (text, guess)


def test_an_endless_message_is_not_repeated_in_the_transcript() -> None:
    assert len(read_move("Wordle", "word " * 10**6).text) <= 4000
    assert read_move("Wordle", "<think>" * 10**5 + "[crane]").guess is None
    assert read_move("Wordle", "[" * 10**5 + "crane]").guess == "crane"
