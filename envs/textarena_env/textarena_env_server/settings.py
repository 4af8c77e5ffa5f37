"""What the operator chooses by environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openenv_core.errors import ConfigurationError

__all__ = ["KEYWORD_PREFIX", "TextArenaSettings"]

KEYWORD_PREFIX = "TEXTARENA_KW_"


@dataclass(frozen=True)
class TextArenaSettings:
    """Which game is played, and how.

    Attributes:
        env_id: ``TEXTARENA_ENV_ID``, the game's id in TextArena's registry.
        num_players: ``TEXTARENA_NUM_PLAYERS``; the one client moves them all in turn.
        max_turns: ``TEXTARENA_MAX_TURNS``; after so many accepted moves the episode is truncated; ``None``: no limit.
        keywords: ``TEXTARENA_KW_<NAME>``: arguments of the game's constructor, by name in lower case.
    """

    env_id: str = "Wordle-v0"
    num_players: int = 1
    max_turns: int | None = None
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> "TextArenaSettings":
        """Read the variables.

        ``TEXTARENA_DOWNLOAD_NLTK``, which the public server knows, has no effect: nothing is ever downloaded.

        Raises:
            ConfigurationError: a value that cannot work; the message names the variable.
        """
        environ = os.environ if environ is None else environ
        keywords = {
            name.removeprefix(KEYWORD_PREFIX).lower(): value
            for name, value in environ.items()
            if name.startswith(KEYWORD_PREFIX)
        }
        if "" in keywords:
            raise ConfigurationError(f"{KEYWORD_PREFIX} lacks a name: write {KEYWORD_PREFIX}<NAME>")
        return cls(
            env_id=environ.get("TEXTARENA_ENV_ID") or cls.env_id,
            num_players=_count(environ, "TEXTARENA_NUM_PLAYERS") or cls.num_players,
            max_turns=_count(environ, "TEXTARENA_MAX_TURNS"),
            keywords=keywords,
        )


def _count(environ: Mapping[str, str], variable: str) -> int | None:
    text = environ.get(variable, "")
    if not text:
        return None
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ConfigurationError(f"{variable}={text!r}: must be a whole number of 1 or more")
    return value
