"""Wordle's tiles and letters."""

from typing import Any

from openenv_core.rendering import Cell, Grid, Text
from openenv_core.rendering.wordle import is_wordle, wordle_view


def seen(guess: str | None = None, feedback: str | None = None, left: int = 6, **more: Any) -> dict[str, Any]:
    """An observation of Wordle."""
    return {"guess": guess, "feedback": feedback, "guesses_left": left, "prompt": "A secret 5-letter word", **more}


def grids(episode: list[dict[str, Any]]) -> list[Grid]:
    return [part for part in wordle_view(episode) if isinstance(part, Grid)]


def texts(episode: list[dict[str, Any]]) -> str:
    return "\n".join(part.text for part in wordle_view(episode) if isinstance(part, Text))


def test_the_first_screen_has_the_rules_and_a_row_for_each_guess() -> None:
    start = seen(left=4, prompt="[GAME] A secret 7-letter word\x1b[2J")
    [tiles] = grids([start])
    assert [len(row) for row in tiles.rows] == [7] * 4
    assert "A secret 7-letter word\\x1b[2J" in texts([start])
    assert "4 guesses left" in texts([start])


def test_a_guess_shows_as_tiles_with_marks_for_those_who_see_no_colours() -> None:
    tiles, _ = grids([seen(), seen("crane", "XYXXG", 5)])
    assert tiles.rows[0] == (
        Cell("C", "wrong", "X"),
        Cell("R", "near", "Y"),
        Cell("A", "wrong", "X"),
        Cell("N", "wrong", "X"),
        Cell("E", "right", "G"),
    )
    assert len(tiles.rows) == 6


def test_a_letter_is_shown_as_the_best_that_is_known_of_it() -> None:
    _, letters = grids([seen(), seen("eerie", "YXXXG", 5), seen("stare", "XXYXG", 4)])
    known = {cell.text: cell.tone for row in letters.rows for cell in row}
    assert {letter: known[letter] for letter in "eriastz"} == {
        **{"e": "right", "r": "wrong", "i": "wrong", "a": "near"},
        **{"s": "wrong", "t": "wrong", "z": "plain"},
    }


def test_a_refused_guess_gets_no_tiles_and_is_explained() -> None:
    episode = [seen(), seen("xx", None, 6, info={"invalid_reason": "Your word must be exactly 5 letters."})]
    [tiles] = grids(episode)
    assert len(tiles.rows) == 6
    assert "exactly 5 letters" in texts(episode)


def test_the_end_tells_the_reason_and_no_longer_counts_guesses() -> None:
    episode = [seen(), seen("crane", "GGGGG", 5, success=True, info={"reason": "Congratulations!"})]
    assert "Congratulations!" in texts(episode)
    assert "left" not in texts(episode).replace("left.", "left")[-20:]


def test_wordle_is_told_by_its_fields() -> None:
    assert is_wordle(seen())
    assert not is_wordle({"guesses_left": None, "feedback": None, "guess": None})
    assert not is_wordle({"text": "hello"})
