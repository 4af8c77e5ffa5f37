"""How an operator sets the OpenSpiel environment up: its environment variables and their defaults."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any

from openenv_core.errors import ConfigurationError, ValidationFailedError
from openspiel_env_server.games import BOUNDED_GAMES, check_name, load
from openspiel_env_server.opponents import POLICIES, make_opponent

__all__ = ["ALL_GAMES", "OpenSpielSettings"]

ALL_GAMES = "*"
"""As the value of ``OPENSPIEL_ALLOWED_GAMES``: every game that this environment can play."""


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("must be 1 or more")
    return value


def _seat(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("must be 0 or more")
    return value


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(f"must be names of games, separated by commas, or {ALL_GAMES}")
    return names


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text or "{}")
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object, for example {"rows": 6}')
    return value


def _setting(default: Any, variable: str, read: Callable[[str], Any], meaning: str) -> Any:
    metadata = {"variable": variable, "read": read, "meaning": meaning}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class OpenSpielSettings:
    """What is played unless a client chooses, and what a client may choose.

    Raises ``ConfigurationError``, naming the variable, for a value that cannot work; so does :meth:`from_environ`.
    """

    game: str = _setting("catch", "OPENSPIEL_GAME", str.strip, "game that is played unless reset chooses one")
    game_params: Mapping[str, Any] = _setting({}, "OPENSPIEL_GAME_PARAMS", _object, "its parameters, a JSON object")
    agent_player: int = _setting(0, "OPENSPIEL_AGENT_PLAYER", _seat, "seat of the agent, counted from 0")
    opponent_policy: str = _setting(
        "random", "OPENSPIEL_OPPONENT_POLICY", str.strip, f"the other players: {', '.join(POLICIES)}"
    )
    allowed_games: tuple[str, ...] = _setting(
        BOUNDED_GAMES, "OPENSPIEL_ALLOWED_GAMES", _names, f"games that reset may choose, or {ALL_GAMES} for all"
    )
    max_parameter: int = _setting(
        100, "OPENSPIEL_MAX_PARAMETER", _positive, "largest number in game_params of games without bounds of their own"
    )
    max_tensor: int = _setting(20_000, "OPENSPIEL_MAX_TENSOR", _positive, "most numbers in one observation")
    mcts_simulations: int = _setting(100, "OPENSPIEL_MCTS_SIMULATIONS", _positive, "rollouts per move of mcts")
    minimax_depth: int = _setting(4, "OPENSPIEL_MINIMAX_DEPTH", _positive, "moves that minimax looks ahead")

    def __post_init__(self) -> None:
        if ALL_GAMES not in self.allowed_games:
            for name in self.allowed_games:
                self._check("allowed_games", name, check_name, name, None)
        self._check("game", self.game, check_name, self.game, None)
        limits = {"chance_seed": 0, "largest_tensor": self.max_tensor}
        game = self._check("game_params", self.game_params, load, self.game, self.game_params, **limits)
        if self.agent_player >= game.players:
            raise self._fault("agent_player", self.agent_player, f"{self.game} has seats 0 to {game.players - 1}")
        search = {"simulations": self.mcts_simulations, "depth": self.minimax_depth}
        policy = self.opponent_policy
        self._check("opponent_policy", policy, make_opponent, policy, game, Random(0), **search)

    @property
    def choosable_games(self) -> frozenset[str] | None:
        """The games that ``reset`` may choose, the default game among them; ``None`` for all."""
        return None if ALL_GAMES in self.allowed_games else frozenset((*self.allowed_games, self.game))

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> "OpenSpielSettings":
        """The settings that the environment variables give."""
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for entry in fields(cls):
            text = environ.get(entry.metadata["variable"])
            if text is None:
                continue
            try:
                values[entry.name] = entry.metadata["read"](text)
            except ValueError as error:
                raise cls._fault(entry.name, text, str(error)) from None
        return cls(**values)

    @classmethod
    def table(cls) -> list[tuple[str, str, Any, str]]:
        """One row per setting: name, environment variable, default, meaning."""
        defaults = cls()
        return [(f.name, f.metadata["variable"], getattr(defaults, f.name), f.metadata["meaning"]) for f in fields(cls)]

    @classmethod
    def _fault(cls, name: str, value: Any, reason: str) -> ConfigurationError:
        variable = cls.__dataclass_fields__[name].metadata["variable"]
        return ConfigurationError(f"{variable}={value!r}: {reason}")

    @classmethod
    def _check(cls, name: str, value: Any, check: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return check(*args, **kwargs)
        except ValidationFailedError as error:
            raise cls._fault(name, value, error.message) from None
