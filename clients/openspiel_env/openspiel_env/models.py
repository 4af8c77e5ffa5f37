"""What an agent and a game of OpenSpiel say to each other."""

from typing import Any, Literal

from pydantic import Field

from openenv_core.types import Action, Observation, State

__all__ = ["OpenSpielAction", "OpenSpielObservation", "OpenSpielState", "OpponentPolicy"]

OpponentPolicy = Literal["random", "first", "last", "middle", "minimax", "mcts"]
"""How the other players choose: evenly at random, the first, last or middle legal action, or by search."""


class OpenSpielAction(Action):
    """Play ``action_id``.

    Attributes:
        action_id: one of the observation's ``legal_actions``: an integer, not a boolean, a text or a fraction.
        game_name, game_params: accepted because clients of the public package send them. They choose nothing: the game
            is chosen at ``reset``.
    """

    action_id: int = Field(strict=True)
    game_name: str = "catch"
    game_params: dict[str, Any] = Field(default_factory=dict)


class OpenSpielObservation(Observation):
    """The game as the agent's seat sees it.

    Attributes:
        info_state: the game's information state tensor for the agent, flattened; its observation tensor where the game
            has no information state tensor; empty where it has neither.
        legal_actions: the actions that ``step`` accepts now; empty at the end.
        game_phase: ``"initial"`` after ``reset``, then ``"playing"``, at the end ``"terminal"``.
        current_player_id: whose turn it is: the agent's seat, at the end -4 as in OpenSpiel.
        opponent_last_action: what another player did last; ``None`` before that, in games for one, and in games in
            which moves are hidden.
        text: the same for a language model: the board or the hand, the agent's side, the legal actions by name.
        legal_action_names: the library's names of ``legal_actions``, in the same order.
    """

    info_state: list[float]
    legal_actions: list[int]
    game_phase: str = "playing"
    current_player_id: int = 0
    opponent_last_action: int | None = None
    text: str = ""
    legal_action_names: list[str] = Field(default_factory=list)


class OpenSpielState(State):
    """Which game is played, and how.

    Attributes:
        game_name: the library's short name.
        agent_player: the agent's seat, counted from 0.
        opponent_policy: how the other players choose.
        game_params: the parameters that were given; the others have the game's defaults.
        num_players: seats of the game, the agent's included.
    """

    game_name: str = "catch"
    agent_player: int = 0
    opponent_policy: str = "random"
    game_params: dict[str, Any] = Field(default_factory=dict)
    num_players: int = 1
