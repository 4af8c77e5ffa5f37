"""What Wordle's observations say beyond the library's text."""

from collections import Counter
from typing import Any

__all__ = ["closing_text", "feedback", "guesses_left", "loss_reason", "signals"]


def feedback(state: dict[str, Any]) -> str | None:
    """``G``, ``Y`` or ``X`` for each letter of the last guess that counted."""
    history = state["guess_history"]
    return "".join(history[-1][1]) if history else None


def guesses_left(state: dict[str, Any]) -> int:
    """How many guesses are left."""
    return int(state["num_guesses"] - len(state["guess_history"]))


def closing_text(state: dict[str, Any]) -> str:
    """The feedback of the winning guess, in the words in which the library gives that of every other guess."""
    word, marks = state["guess_history"][-1]
    return (
        f"You submitted [{word}].\nFeedback:\n{' '.join(word.upper())}\n{' '.join(marks)}\n"
        f"You have {guesses_left(state)} guesses left."
    )


def loss_reason(state: dict[str, Any], reward: float) -> str:
    """Why the game is lost. The library calls the score of the last guess a match of the best one."""
    return (
        f"You are out of guesses. The secret word was: **{state['secret_word']}**. Your last guess scores "
        f"{round(reward * 100)}%: a green letter counts one, a yellow letter one half."
    )


def signals(marks: str | None, guess: str | None, seen: Counter[str], reward: float) -> dict[str, float]:
    """The four signals of the public environment.

    Args:
        marks: feedback of this guess; ``None`` if it did not count.
        guess: the word; ``None`` if there was none.
        seen: how often each word was tried before in this episode.
        reward: what the step earned.

    Returns:
        ``wordle.greens`` and ``wordle.yellows``: share of the letters so marked, 0 to 1, of this guess: 0 if it did not
        count. ``wordle.repetitions``: 1 less the times that the same word was tried before; 0 without a word.
        ``wordle.correct``: the reward.
    """
    length = len(marks) if marks else 1
    counts = Counter(marks or "")
    return {
        "wordle.greens": counts["G"] / length,
        "wordle.yellows": counts["Y"] / length,
        "wordle.repetitions": 0.0 if guess is None else 1.0 - seen[guess],
        "wordle.correct": reward,
    }
