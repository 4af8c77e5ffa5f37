"""What an agent is told in words, and whether it won: made from its own seat's view of the game and nothing else."""

import re
from collections.abc import Callable

from openspiel_env_server.match import Match

__all__ = ["render", "success"]

_SIDES = {"breakthrough": "bw", "connect_four": "xo", "othello": "xo", "tic_tac_toe": "xo"}
_LONGEST_LIST = 64
_LEGENDS = {
    "catch": "Move the paddle x under the falling ball o.",
    "cliff_walking": "Walk P to the goal G; X is the cliff.",
    "2048": "Slide the tiles; equal tiles merge; 0 is an empty cell.",
}


def _view(match: Match) -> str:
    """The library's own text for the agent's seat. Never ``str(state)``, which shows everybody's cards."""
    if match.game.has_observation_string:
        return str(match.state.observation_string(match.agent))
    return str(match.state.information_state_string(match.agent))


def _kuhn_poker(match: Match) -> str:
    found = re.fullmatch(r"(\d+)([pb]*)", match.state.information_state_string(match.agent))
    if found is None:
        return _view(match)
    card, history = int(found[1]), found[2]
    names = {0: "Jack", 1: "Queen", 2: "King"} if match.game.players == 2 else {}
    held = f"the {names[card]}" if names else f"card {card} of 0 to {match.game.players}"
    moves = ", ".join("pass" if move == "p" else "bet" for move in history) or "none"
    return f"You hold {held}; the highest card wins. Moves so far: {moves}."


_HANDS: dict[str, Callable[[Match], str]] = {"kuhn_poker": _kuhn_poker}


def render(match: Match, legal: list[int], names: list[str]) -> str:
    """The position for a language model: board or hand, whose side the agent is on, what it may do."""
    game = match.game
    lines = [_LEGENDS[game.name]] if game.name in _LEGENDS else []
    lines.append(_HANDS.get(game.name, _view)(match).strip("\n"))
    if game.players > 1:
        side = f" ({_SIDES[game.name][match.agent]})" if game.name in _SIDES else ""
        lines.append(f"You are player {match.agent}{side} of players 0 to {game.players - 1}.")
        if match.last_opponent_action and game.moves_are_public:
            action, name = match.last_opponent_action
            lines.append(f"The last action of another player: {action} = {name}.")
    if match.is_over:
        lines.append(f"The game is over. Your return: {match.state.returns()[match.agent]:g}.")
    else:
        shown = ", ".join(f"{action} = {name}" for action, name in zip(legal[:_LONGEST_LIST], names, strict=False))
        more = f" and {len(legal) - _LONGEST_LIST} more" if len(legal) > _LONGEST_LIST else ""
        lines.append(f"Legal actions: {shown}{more}.")
    return "\n".join(lines)


def success(match: Match) -> bool | None:
    """Whether the agent won, at the end of a game in which that has a meaning; a draw is not a win.

    Cliff walking is won on the goal; 2048 with the highest tile; every other game whose returns can be both below and
    above zero with a return above zero. In a game that only counts points nobody wins: ``None``.
    """
    if not match.is_over:
        return None
    if match.game.name == "cliff_walking":
        return _view(match).rstrip("\n").endswith("P")
    if match.game.name == "2048":
        highest = int(match.game.library.get_parameters()["max_tile"])
        return max(map(int, _view(match).split())) >= highest
    library = match.game.library
    if not library.min_utility() < 0 < library.max_utility():
        return None
    return bool(match.state.returns()[match.agent] > 0)
