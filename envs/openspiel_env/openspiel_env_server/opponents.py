"""The other players: how each opponent policy chooses an action."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, get_args

import pyspiel  # type: ignore[import-untyped,import-not-found,unused-ignore]

from openenv_core.errors import ValidationFailedError
from openspiel_env.models import OpponentPolicy
from openspiel_env_server.games import Game

__all__ = ["POLICIES", "Opponent", "make_opponent"]

POLICIES: tuple[str, ...] = get_args(OpponentPolicy)

_SHORT_GAME = 10
"""Games of at most so many moves are searched to the end: a whole tic-tac-toe takes 40 ms."""

_SEARCH_MEMORY_MB = 64
_EXPLORATION = 2.0
"""The constant of the upper confidence bound that the library's own examples use."""


@dataclass(frozen=True)
class Opponent:
    """A way to choose.

    Attributes:
        choose: given a state of the library in which it is a player's turn, one of its legal actions.
        searches: choosing takes milliseconds or more, so it must not run where others wait.
    """

    choose: Callable[[Any], int]
    searches: bool = False


def make_opponent(policy: str, game: Game, random: Random, *, simulations: int, depth: int) -> Opponent:
    """The opponent that plays all seats but the agent's.

    Args:
        policy: one of :data:`POLICIES`.
        game: what is played.
        random: the episode's own generator.
        simulations: rollouts per move of ``"mcts"``.
        depth: moves that ``"minimax"`` looks ahead in games too long to be searched to the end.

    Raises:
        ValidationFailedError: the policy does not exist, or cannot play this game fairly.
    """
    simple: dict[str, Callable[[Any], int]] = {
        "random": lambda state: random.choice(state.legal_actions()),
        "first": lambda state: int(state.legal_actions()[0]),
        "last": lambda state: int(state.legal_actions()[-1]),
        "middle": lambda state: int(state.legal_actions()[len(state.legal_actions()) // 2]),
    }
    if policy in simple:
        return Opponent(simple[policy])
    if policy not in POLICIES:
        raise _refusal(policy, f"opponent_policy must be one of {', '.join(POLICIES)}, not {policy!r}")
    if game.players == 1:
        return Opponent(simple["first"])
    kinds, kind = pyspiel.GameType, game.library.get_type()
    if kind.information != kinds.Information.PERFECT_INFORMATION:
        raise _refusal(policy, f"{policy} searches the true state, so in {game.name} it would see hidden information")
    if policy == "minimax":
        fits = game.players == 2 and kind.utility == kinds.Utility.ZERO_SUM
        if not fits or kind.chance_mode != kinds.ChanceMode.DETERMINISTIC:
            raise _refusal(policy, f"minimax plays zero-sum games for two without chance, and {game.name} is not one")
        return Opponent(_minimax(game, depth), searches=True)
    return Opponent(_tree_search(game, random, simulations), searches=True)


def _refusal(policy: str, message: str) -> ValidationFailedError:
    problem = {"type": "value_error", "loc": ["opponent_policy"], "msg": message, "input": policy}
    return ValidationFailedError(message, errors=[problem], known=list(POLICIES))


def _minimax(game: Game, depth: int) -> Callable[[Any], int]:
    from open_spiel.python.algorithms import minimax  # type: ignore[import-untyped,import-not-found,unused-ignore]

    whole = game.library.max_game_length() <= _SHORT_GAME
    moves = _SHORT_GAME if whole else depth

    def choose(state: Any) -> int:
        # A position at the depth's end counts as a draw: the library has no evaluation of positions.
        _, action = minimax.alpha_beta_search(
            game.library, state=state, value_function=lambda _: 0.0, maximum_depth=moves
        )
        return int(action)

    return choose


def _tree_search(game: Game, random: Random, simulations: int) -> Callable[[Any], int]:
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=random.getrandbits(31))
    bot = pyspiel.MCTSBot(
        game.library,
        evaluator,
        uct_c=_EXPLORATION,
        max_simulations=simulations,
        max_memory_mb=_SEARCH_MEMORY_MB,
        solve=True,
        seed=random.getrandbits(31),
        verbose=False,
    )
    return lambda state: int(bot.step(state))
