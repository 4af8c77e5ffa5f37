"""One game in progress, seen from the agent's seat: chance is drawn, legality is checked, rewards are counted once."""

from random import Random
from typing import Any

from openspiel_env_server.games import Game

__all__ = ["Match"]


class Match:
    """A state of the library that always waits for a player or is over; it never waits for chance.

    Attributes:
        game: what is played.
        agent: the agent's seat.
        state: the library's state. Its ``str()`` and its history hold the hidden cards: they must not leave the server.
        last_opponent_action: what another player did last, and the library's name of it.
    """

    def __init__(self, game: Game, agent: int, random: Random) -> None:
        self.game = game
        self.agent = agent
        self.state: Any = game.library.new_initial_state()
        self.last_opponent_action: tuple[int, str] | None = None
        self._random = random
        self._counted = 0.0
        self._draw_chance()

    @property
    def is_over(self) -> bool:
        """Nobody can move any more."""
        return bool(self.state.is_terminal())

    @property
    def awaits_opponent(self) -> bool:
        """Another player than the agent is to move."""
        player: int = self.state.current_player()
        return player >= 0 and player != self.agent

    def legal_actions(self) -> list[int]:
        """What the agent may do; nothing while it is not its turn or when the game is over."""
        return list(self.state.legal_actions()) if self.state.current_player() == self.agent else []

    def play(self, action: int) -> None:
        """Play a legal action for the agent."""
        self._apply(action)

    def play_opponent(self, action: int) -> None:
        """Play a legal action for the player whose turn it is."""
        player = self.state.current_player()
        self.last_opponent_action = (action, self.state.action_to_string(player, action))
        self._apply(action)

    def collect_reward(self) -> float:
        """What the agent earned since this was last called.

        The difference of the returns, because the library's own ``rewards()`` repeats the last move's reward after a
        chance node, and loses what was earned during other players' moves.
        """
        # A game that pays at the end may show a running score: half a session's score is not a reward.
        total = 0.0 if self.game.pays_at_end and not self.is_over else float(self.state.returns()[self.agent])
        earned, self._counted = round(total - self._counted, 10), total
        return earned

    def _apply(self, action: int) -> None:
        # Most games of the library take an illegal action without a word and play on with a broken state.
        if action not in self.state.legal_actions():
            raise ValueError(f"action {action} is not legal here")
        self.state.apply_action(action)
        self._draw_chance()

    def _draw_chance(self) -> None:
        while not self.state.is_terminal() and self.state.is_chance_node():
            actions, weights = zip(*self.state.chance_outcomes(), strict=True)
            self.state.apply_action(self._random.choices(actions, weights)[0])
