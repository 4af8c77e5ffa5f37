"""Reading a move out of what a player said."""

import re
from typing import Final, NamedTuple

__all__ = ["Move", "read_move", "without_reasoning"]

_TAG: Final = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)

_DIRECTION = "up|down|left|right"
_NUMBER = r"\d{1,9}"

_ONE_MOVE: Final = {
    "Wordle": r"\w+",
    "Hangman": "[A-Za-z]+",
    "WordLadder": "[A-Za-z]+",
    "GuessTheNumber": _NUMBER,
    "ThreeCardMonte": _NUMBER,
    "Mastermind": rf"{_NUMBER}(?:\s+{_NUMBER})*",
    "Minesweeper": rf"{_NUMBER}\s+{_NUMBER}",
    "LightsOut": rf"{_NUMBER}\s+{_NUMBER}",
    "PegJump": rf"{_NUMBER}\s+{_NUMBER}",
    "Sudoku": rf"{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}",
    "Set": rf"{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}",
    "Countdown": rf"{_NUMBER}\s+{_NUMBER}\s*[-+*/]",
    "Cryptarithm": r"[A-Za-z]\s+\d",
    "Slitherlink": rf"[hv]\s+{_NUMBER}\s+{_NUMBER}",
    "RushHour": r"[A-Z][-+]",
    "FrozenLake": rf"{_DIRECTION}|w|a|s|d",
    "Sokoban": rf"{_DIRECTION}|w|a|s|d",
    "Game2048": _DIRECTION,
    "FifteenPuzzle": _DIRECTION,
    "Blackjack": "hit|stand",
    "Secretary": "accept|continue",
    "Bandit": "[A-Za-z]+",
}
"""What stands in the brackets, in the games that take one move at a time, by the name of the game's module."""

_PATTERNS: Final = {
    family: (re.compile(rf"\[\s*({inside})\s*\]", re.IGNORECASE), re.compile(inside, re.IGNORECASE))
    for family, inside in _ONE_MOVE.items()
}

_AROUND_A_WORD: Final = " \t\r\n\"'`*_.,;:!?"
_SENDERS: Final = ("GAME", "Player")
_LONGEST: Final = 4000
"""So many characters of a message without a move are handed to the game, which repeats them in the transcript."""


class Move(NamedTuple):
    """What a player did.

    Attributes:
        text: what the game is given.
        guess: the move that was found, in lower case and without brackets; ``None`` where none was found, or where the
            game takes several moves at a time.
    """

    text: str
    guess: str | None


def read_move(family: str, message: str) -> Move:
    """Find the move in a message.

    Reasoning in ``<think>`` tags is left out. In games that take one move at a time the last move in brackets counts,
    or a message that is nothing but a move. Where there is none, the game is given the message and refuses it in its
    own words.

    Args:
        family: name of the game's module, for example ``Wordle``.
        message: what the player said.
    """
    said = without_reasoning(message)
    if family in _PATTERNS:
        bracketed, bare = _PATTERNS[family]
        found = [match[1] for match in bracketed.finditer(said)]
        if not found and "[" not in said:
            found = [alone for alone in (said.strip(), said.strip(_AROUND_A_WORD)) if bare.fullmatch(alone)]
        if found:
            move = " ".join(found[-1].split())
            guess = move.lower()
            # The library deletes the tags of its senders from what it repeats, in this spelling.
            return Move(f"[{guess if move in _SENDERS else move}]", guess)
    # Python refuses to read numbers of thousands of digits; no game has any that long.
    return Move(re.sub(r"\d{10,}", "999999999", said).strip()[-_LONGEST:], None)


def without_reasoning(message: str) -> str:
    """The message without its reasoning.

    A closing tag without an opening one ends a reasoning that began in the prompt; an opening tag without a closing one
    begins a reasoning that was cut off.
    """
    kept: list[str] = []
    position = 0
    reasoning = False
    for tag in _TAG.finditer(message):
        closes = bool(tag[1])
        if not reasoning:
            if closes:
                kept.clear()
            else:
                kept.append(message[position : tag.start()])
        reasoning = not closes
        position = tag.end()
    if not reasoning:
        kept.append(message[position:])
    return "".join(kept)
