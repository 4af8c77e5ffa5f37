"""How an operator sets the OpenSpiel environment up: its environment variables and their defaults."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any

from openenv_core.errors import ConfigurationError, ValidationFailedError
from openspiel_env_server.games import BOUNDS, Bounds, check_name, load, parameters_of
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


def _range(game: str, name: str, pair: Any) -> range:
    if type(parameters_of(game).get(name)) is not int:
        raise ValidationFailedError(f"{game} has no whole number {name!r} among its parameters")
    if not (isinstance(pair, list) and len(pair) == 2 and all(type(bound) is int for bound in pair)):
        raise ValidationFailedError(f"the bounds of {name!r} must be two integers in a list, not {pair!r}")
    if pair[0] > pair[1]:
        raise ValidationFailedError(f"the bounds of {name!r} are in the wrong order: {pair!r}")
    return range(pair[0], pair[1] + 1)


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
        tuple(BOUNDS), "OPENSPIEL_ALLOWED_GAMES", _names, f"games that reset may choose, or {ALL_GAMES} for all"
    )
    param_bounds: Mapping[str, Any] = _setting(
        {}, "OPENSPIEL_PARAM_BOUNDS", _object, 'further bounds, for example {"mnk": {"m": [3, 9], "n": [3, 9]}}'
    )
    max_tensor: int = _setting(20_000, "OPENSPIEL_MAX_TENSOR", _positive, "most numbers in one observation")
    mcts_simulations: int = _setting(100, "OPENSPIEL_MCTS_SIMULATIONS", _positive, "rollouts per move of mcts")
    minimax_depth: int = _setting(4, "OPENSPIEL_MINIMAX_DEPTH", _positive, "moves that minimax looks ahead")

    def __post_init__(self) -> None:
        if ALL_GAMES not in self.allowed_games:
            for name in self.allowed_games:
                self._check("allowed_games", name, check_name, name, None)
        self._check("param_bounds", self.param_bounds, lambda: self.bounds)
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

    @property
    def bounds(self) -> Bounds:
        """Between what a client may choose parameters: the package's own bounds, and over them the operator's."""
        merged: dict[str, dict[str, Any]] = {game: dict(own) for game, own in BOUNDS.items()}
        for game, own in self.param_bounds.items():
            check_name(game, None)
            for name, pair in own.items() if isinstance(own, Mapping) else [("", None)]:
                merged.setdefault(game, {})[name] = _range(game, name, pair)
        return merged

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
