"""Which games may be played with which parameters, and loading them.

The library checks little: it loads a catch of a billion cells or of minus one row, prints a page to stderr at an
unknown name, and ends the whole process at a hanabi of 37 colours or a poker of 37 ranks. So what a client asks for is
checked here, before the library hears of it, and a number may be chosen only between bounds that were tried.
"""

import difflib
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyspiel  # type: ignore[import-untyped,import-not-found,unused-ignore]

from openenv_core.errors import ValidationFailedError

__all__ = ["BOUNDS", "Bounds", "Game", "check_name", "check_parameters", "load", "parameters_of"]

Bounds = Mapping[str, Mapping[str, Sequence[int]]]
"""By game and parameter: the values that may be chosen, in ascending order; a ``range`` where they have no gaps."""

_EITHER = (False, True)

BOUNDS: Bounds = {
    "2048": {"max_tile": [2**n for n in range(3, 17)]},
    "blackjack": {},
    "breakthrough": {"rows": range(3, 13), "columns": range(2, 13)},
    "catch": {"rows": range(2, 101), "columns": range(1, 101)},
    "cliff_walking": {"height": range(2, 51), "width": range(3, 51), "horizon": range(1, 1001)},
    "connect_four": {
        "rows": range(1, 21),
        "columns": range(1, 21),
        "x_in_row": range(1, 21),
        "egocentric_obs_tensor": _EITHER,
    },
    "dots_and_boxes": {"num_rows": range(1, 9), "num_cols": range(1, 9), "utility_margin": _EITHER},
    # Boards that are not square write past the end of a buffer, with plain_obs_tensor and more rows than columns.
    "hex": {"board_size": range(2, 20), "swap": _EITHER},
    "kuhn_poker": {"players": range(2, 11)},
    "leduc_poker": {
        "players": range(2, 11),
        "starting_player": range(2),
        "action_mapping": _EITHER,
        "suit_isomorphism": _EITHER,
    },
    "liars_dice": {"numdice": range(1, 6), "dice_sides": range(1, 11)},
    "mancala": {},
    "nim": {"is_misere": _EITHER},
    "othello": {},
    "pig": {
        "players": range(2, 11),
        "winscore": range(1, 201),
        "horizon": range(1, 1001),
        "diceoutcomes": range(1, 21),
        "piglet": _EITHER,
    },
    "tic_tac_toe": {},
}
"""The games that a server offers by default."""

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


def parameters_of(name: str) -> dict[str, Any]:
    """The parameters that a known game has, with their defaults.

    The library's own seed of chance is none of them: it follows from the episode's seed.
    """
    found: dict[str, Any] = _registered()[name].parameter_specification
    return {key: value for key, value in found.items() if key != "rng_seed"}


def check_parameters(name: str, parameters: Mapping[str, Any], bounds: Bounds) -> None:
    """Refuse parameters that the game does not have, or values that a client may not choose.

    A parameter without bounds may only repeat its default; fractions and texts never have any, and some texts are read
    as names of files by the library.

    Args:
        name: a game that :func:`check_name` let pass.
        parameters: what the client chose.
        bounds: those of all games.

    Raises:
        ValidationFailedError: naming the parameter, and what may stand there.
    """
    known = parameters_of(name)
    for key, value in parameters.items():
        where = ("game_params", key)
        if key not in known:
            have = ", ".join(sorted(known)) or "none"
            raise _refusal(f"{name} has no parameter {key!r}; it has {have}", where, value, known=sorted(known))
        default = known[key]
        if type(value) is type(default) and value == default:
            continue
        choices = bounds.get(name, {}).get(key, ())
        if type(value) is not type(default) or value not in choices:
            raise _refusal(f"{name} parameter {key!r} must be {_told(choices, default)}, not {value!r}", where, value)


def _told(choices: Sequence[int], default: Any) -> str:
    if not choices:
        return f"left at its default {default!r}"
    if isinstance(choices, range):
        return f"an integer from {choices[0]} to {choices[-1]}"
    return f"one of {', '.join(str(choice).lower() for choice in choices)}"


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
