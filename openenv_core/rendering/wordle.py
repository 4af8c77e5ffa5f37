"""Wordle's tiles and letters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from openenv_core.rendering.parts import Cell, Grid, Text, Tone
from openenv_core.rendering.text import visible

__all__ = ["is_wordle", "wordle_view"]

_TONES: Final[dict[str, Tone]] = {"G": "right", "Y": "near", "X": "wrong"}
_KEYBOARD: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_MEANING: Final = "green G: right place · yellow Y: elsewhere in the word · grey X: not in the word"


def is_wordle(observation: Mapping[str, Any]) -> bool:
    """Whether an observation is one of Wordle, told by its fields."""
    return isinstance(observation.get("guesses_left"), int) and "feedback" in observation and "guess" in observation


def wordle_view(episode: Sequence[Mapping[str, Any]]) -> list[Grid | Text]:
    """All guesses so far as tiles, what is known of each letter, and what the last guess led to.

    Args:
        episode: the observations since the reset, the reset's first.
    """
    now = episode[-1]
    parts: list[Grid | Text] = []
    if len(episode) == 1 and now.get("prompt"):
        parts.append(Text(visible(str(now["prompt"])).strip().removeprefix("[GAME] ")))
    guesses = list(_guesses(episode))
    parts.append(_tiles(guesses, now))
    if guesses:
        parts += [_letters(guesses), Text(_MEANING, "empty")]
    info = now.get("info") or {}
    for name in ("invalid_reason", "reason"):
        if info.get(name):
            parts.append(Text(visible(str(info[name])), "notice"))
    if not now.get("success") and not info.get("reason"):
        left = now["guesses_left"]
        parts.append(Text(f"{left} guess{'' if left == 1 else 'es'} left."))
    return parts


def _guesses(episode: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for observation in episode:
        guess, feedback = observation.get("guess"), observation.get("feedback")
        if isinstance(guess, str) and isinstance(feedback, str) and len(guess) == len(feedback):
            yield visible(guess), feedback


def _tiles(guesses: Sequence[tuple[str, str]], now: Mapping[str, Any]) -> Grid:
    length = len(guesses[0][0]) if guesses else _length(str(now.get("prompt", "")))
    rows = [
        tuple(Cell(letter.upper(), _TONES.get(mark, "plain"), mark) for letter, mark in zip(*guess, strict=True))
        for guess in guesses
    ]
    rows += [(Cell("_", "empty"),) * length] * now["guesses_left"]
    return Grid(tuple(rows))


def _length(prompt: str) -> int:
    found = re.search(r"(\d{1,2})-letter", prompt)
    return int(found[1]) if found else 5


def _letters(guesses: Sequence[tuple[str, str]]) -> Grid:
    known: dict[str, str] = {}
    for guess, feedback in guesses:
        for letter, mark in zip(guess.lower(), feedback, strict=True):
            # What is known best counts: a letter that is right somewhere may be wrong in another place.
            known[letter] = min(known.get(letter, mark), mark, key="GYX".find)
    return Grid(
        tuple(
            tuple(
                Cell(letter, _TONES.get(known[letter], "plain"), known[letter]) if letter in known else Cell(letter)
                for letter in row
            )
            for row in _KEYBOARD
        )
    )
