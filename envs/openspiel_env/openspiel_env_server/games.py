"""Which games may be played with which parameters, and loading them.

The library checks little: it loads a catch of a billion cells or of minus one row, and it prints a page to stderr at an
unknown name. So what a client asks for is checked here, before the library hears of it.
"""

import difflib
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyspiel  # type: ignore[import-untyped,import-not-found,unused-ignore]

from openenv_core.errors import ValidationFailedError

__all__ = ["BOUNDED_GAMES", "Game", "check_name", "check_parameters", "load"]

_Bounds = tuple[int, int] | frozenset[int]

_BOUNDS: dict[str, dict[str, _Bounds]] = {
    "2048": {"max_tile": frozenset(2**n for n in range(3, 17))},
    "blackjack": {},
    "breakthrough": {"rows": (3, 12), "columns": (2, 12)},
    "catch": {"rows": (2, 100), "columns": (1, 100)},
    "cliff_walking": {"height": (2, 50), "width": (3, 50), "horizon": (1, 1000)},
    "connect_four": {"rows": (1, 20), "columns": (1, 20), "x_in_row": (1, 20)},
    "dots_and_boxes": {"num_rows": (1, 8), "num_cols": (1, 8)},
    "hex": {"board_size": (2, 19), "num_cols": (2, 19), "num_rows": (2, 19)},
    "kuhn_poker": {"players": (2, 10)},
    "leduc_poker": {"players": (2, 10), "starting_player": (0, 1)},
    "liars_dice": {"players": (2, 2), "numdice": (1, 5), "dice_sides": (1, 10)},
    "mancala": {},
    "nim": {},
    "othello": {},
    "pig": {"players": (2, 10), "winscore": (1, 200), "horizon": (1, 1000), "diceoutcomes": (1, 20)},
    "tic_tac_toe": {},
}

BOUNDED_GAMES = tuple(_BOUNDS)
"""The games that a server offers by default: each has bounds of its own, within which every value was played."""

# Moves of these are seen by all at the table although cards or dice are not.
_PUBLIC_MOVES = frozenset({"kuhn_poker", "leduc_poker", "liars_dice", "repeated_leduc_poker", "universal_poker"})


@dataclass(frozen=True)
class Game:
    """A loaded game.

    Attributes:
        name: the library's short name.
        parameters: those that were given.
        library: the library's object.
        players: number of seats.
        has_information_tensor, has_observation_tensor, has_observation_string: what a state of it can tell a player.
        pays_at_end: rewards come at the end only.
        moves_are_public: a player may be told what the others did.
    """

    name: str
    parameters: Mapping[str, Any]
    library: Any
    players: int
    has_information_tensor: bool
    has_observation_tensor: bool
    has_observation_string: bool
    pays_at_end: bool
    moves_are_public: bool


@functools.cache
def _registered() -> dict[str, Any]:
    return {game.short_name: game for game in pyspiel.registered_games()}


def _refusal(message: str, where: tuple[str, ...], value: Any, **details: Any) -> ValidationFailedError:
    problem = {"type": "value_error", "loc": list(where), "msg": message, "input": value}
    return ValidationFailedError(message, errors=[problem], **details)


def check_name(name: str, allowed: frozenset[str] | None) -> None:
    """Refuse a game that is unknown, not allowed, or of a kind that is not played here.

    Args:
        name: the library's short name.
        allowed: the names that may be chosen; ``None`` for all.

    Raises:
        ValidationFailedError: with the reason; for a game that is not allowed, the details list those that are.
    """
    found = _registered().get(name)
    if found is None:
        near = difflib.get_close_matches(name, _registered(), n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise _refusal(f"OpenSpiel has no game {name!r}{hint}", ("game_name",), name)
    if allowed is not None and name not in allowed:
        raise _refusal(
            f"game {name!r} is not offered here; choose one of {', '.join(sorted(allowed))}",
            ("game_name",),
            name,
            allowed=sorted(allowed),
        )
    reason = _unplayable(found)
    if reason:
        raise _refusal(f"game {name!r} cannot be played here: {reason}", ("game_name",), name)


def _unplayable(found: Any) -> str | None:
    kinds = pyspiel.GameType
    if found.dynamics == kinds.Dynamics.SIMULTANEOUS:
        return "its players move at the same time, and an action of this environment is one player's"
    if found.dynamics != kinds.Dynamics.SEQUENTIAL:
        return "it is a mean-field game, which has no turns"
    if not found.default_loadable:
        return "it is built around another game or a file"
    if found.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC and "rng_seed" not in found.parameter_specification:
        return "its chance cannot be seeded"
    return None


def check_parameters(name: str, parameters: Mapping[str, Any], largest: int) -> None:
    """Refuse parameters that the game does not have or that are out of bounds.

    A text parameter may only repeat its default, since the library reads some of them as names of files. The library's
    own seed of chance may not be given at all: it follows from the episode's seed.

    Args:
        name: a game that :func:`check_name` let pass.
        parameters: what the client chose.
        largest: bound of numbers for which this module has no bounds of their own.

    Raises:
        ValidationFailedError: naming the parameter, and what may stand there.
    """
    known = {key: value for key, value in _registered()[name].parameter_specification.items() if key != "rng_seed"}
    for key, value in parameters.items():
        where = ("game_params", key)
        if key not in known:
            have = ", ".join(sorted(known)) or "none"
            raise _refusal(f"{name} has no parameter {key!r}; it has {have}", where, value, known=sorted(known))
        wanted = _wanted(name, key, known[key], value, largest)
        if wanted:
            raise _refusal(f"{name} parameter {key!r} must be {wanted}, not {value!r}", where, value)


def _wanted(name: str, key: str, default: Any, value: Any, largest: int) -> str | None:
    """What the parameter should have been, or ``None`` if it is that."""
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(default, int):
        bounds = _BOUNDS.get(name, {}).get(key, (min(1, default), max(largest, default)))
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(bounds, frozenset):
            choices = ", ".join(map(str, sorted(bounds)))
            return None if is_integer and value in bounds else f"one of {choices}"
        low, high = bounds
        return None if is_integer and low <= value <= high else f"an integer from {low} to {high}"
    if isinstance(default, float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and abs(value) <= largest else f"a number from {-largest} to {largest}"
    return None if type(value) is type(default) and value == default else f"left at its default {default!r}"


def load(name: str, parameters: Mapping[str, Any], *, chance_seed: int, largest_tensor: int) -> Game:
    """Load a game.

    Args:
        name, parameters: checked by :func:`check_name` and :func:`check_parameters`, or an operator's own.
        chance_seed: for the few games that draw chance by themselves instead of asking the caller.
        largest_tensor: bound of the numbers in one observation.

    Raises:
        ValidationFailedError: the library refuses the parameters, or the observations would be too large.
    """
    found = _registered()[name]
    own_chance = "rng_seed" in found.parameter_specification
    try:
        library = pyspiel.load_game(name, {**parameters, "rng_seed": chance_seed} if own_chance else dict(parameters))
        if library.num_distinct_actions() < 1:
            raise _refusal(f"game {name!r} cannot be played here: its actions are not numbered", ("game_name",), name)
        size = _tensor_size(library)
    except (pyspiel.SpielError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise _refusal(f"OpenSpiel refuses {name} with {dict(parameters)}: {reason}", ("game_params",), None) from None
    if size > largest_tensor:
        message = f"{name} with {dict(parameters)} has {size} numbers in an observation; at most {largest_tensor}"
        raise _refusal(f"{message} are served here", ("game_params",), None)
    kinds = pyspiel.GameType
    return Game(
        name=name,
        parameters=dict(parameters),
        library=library,
        players=library.num_players(),
        has_information_tensor=found.provides_information_state_tensor,
        has_observation_tensor=found.provides_observation_tensor,
        has_observation_string=found.provides_observation_string,
        pays_at_end=found.reward_model == kinds.RewardModel.TERMINAL,
        moves_are_public=found.information == kinds.Information.PERFECT_INFORMATION or name in _PUBLIC_MOVES,
    )


def _tensor_size(library: Any) -> int:
    kind = library.get_type()
    if kind.provides_information_state_tensor:
        return math.prod(library.information_state_tensor_shape())
    if kind.provides_observation_tensor:
        return math.prod(library.observation_tensor_shape())
    return 0
