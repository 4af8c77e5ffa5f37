"""The keys by which a person plays without looking for a button."""

import re
from collections.abc import Sequence
from typing import Any, Final

from openenv_core.rendering.parts import Labelled
from openenv_core.rendering.questions import Choice, Question
from openenv_core.rendering.text import visible

__all__ = ["labelled_choices"]

_WORDS: Final = {
    "left": "ArrowLeft",
    "west": "ArrowLeft",
    "right": "ArrowRight",
    "east": "ArrowRight",
    "up": "ArrowUp",
    "north": "ArrowUp",
    "down": "ArrowDown",
    "south": "ArrowDown",
    "stay": " ",
    "nothing": " ",
    "noop": " ",
}
_MOST: Final = 60
"""More actions than that are no buttons: they are chosen from a list."""


def labelled_choices(questions: Sequence[Question]) -> list[Labelled]:
    """The actions that one click does: where a move is one question with a few choices, all of them."""
    if len(questions) != 1 or questions[0].kind != "choice" or len(questions[0].choices) > _MOST:
        return []
    question = questions[0]
    keys = _keys(question.choices)
    return [
        Labelled({question.field: choice.value}, visible(choice.name or str(choice.value)), key)
        for choice, key in zip(question.choices, keys, strict=True)
    ]


def _keys(choices: Sequence[Choice]) -> list[str]:
    """A key for each choice, none twice: arrows where the names say so, else the digit, else a letter of its own."""
    by_word, by_digit, by_letter = (
        [how(choice) for choice in choices] for how in (_key_of_words, _key_of_digit, _key_of_letter)
    )
    keys: list[str] = []
    for number in range(len(choices)):
        found = next((own[number] for own in (by_word, by_digit, by_letter) if _is_own(own, number)), "")
        keys.append("" if found in keys else found)
    return keys


def _is_own(keys: list[str], number: int) -> bool:
    return keys[number] != "" and keys.count(keys[number]) == 1


def _key_of_words(choice: Choice) -> str:
    words = re.findall(r"[a-z]+", choice.name.lower())
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def _key_of_digit(choice: Choice) -> str:
    value: Any = choice.value
    return str(value) if type(value) is int and 0 <= value <= 9 else ""


def _key_of_letter(choice: Choice) -> str:
    return next(iter(re.findall(r"[a-z]", (choice.name or str(choice.value)).lower())), "")
