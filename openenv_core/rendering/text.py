"""Text from an environment, made fit to be shown: it comes from a model or a stranger and must not steer a terminal."""

import re
import unicodedata
from typing import Final

__all__ = ["MAX_LINES", "shortened", "visible"]

MAX_LINES: Final = 80
"""A text of an observation is shown up to this length; nobody reads more before the next move."""

_MAX_COLUMNS: Final = 1000
_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of characters that move the cursor, colour, hide or turn around what follows."""

_EMOJI_JOINER: Final = "\u200d"
_UNUSUAL: Final = re.compile(r"[^\n\t -~]")
"""All but printable ASCII: megabytes of that are looked through in one go."""


def visible(text: str) -> str:
    """The text with everything that would steer a terminal written out: an escape character shows as ``\\x1b``.

    Line breaks and tabs stay.
    """
    return _UNUSUAL.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    if character == _EMOJI_JOINER or unicodedata.category(character) not in _STEERING:
        return character
    return ascii(character)[1:-1]


def shortened(text: str) -> str:
    """At most ``MAX_LINES`` lines, with a note of how many were left out; the end counts most in a transcript."""
    lines = [
        line if len(line) <= _MAX_COLUMNS else f"{line[:_MAX_COLUMNS]}… ({len(line) - _MAX_COLUMNS} characters more)"
        for line in re.sub(r"\n{3,}", "\n\n", text.strip("\n")).split("\n")
    ]
    if len(lines) > MAX_LINES:
        lines = [f"… ({len(lines) - MAX_LINES} lines before these are not shown)", *lines[-MAX_LINES:]]
    return "\n".join(lines)
