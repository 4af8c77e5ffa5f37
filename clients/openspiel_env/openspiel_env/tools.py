"""Catch as tools for a language model."""

from typing import Any, Literal

from openenv_core.training import ToolEnvironment, reward_function
from openenv_core.types import StepResult
from openspiel_env.client import OpenSpielEnv
from openspiel_env.models import OpenSpielAction

__all__ = ["CATCH_PROMPT", "CatchTools", "catch_reward", "catch_win_reward"]

CATCH_PROMPT = """You play Catch. A ball falls one row with every move you make, and a paddle in the bottom row is \
yours. Be under the ball when it arrives: that pays 1, anything else -1. Before each move look at where the ball is. \
Use the tools `move` and `stay` until the game is over."""

_ACTIONS = {"left": 0, "right": 2}
_STAY = 1


class CatchTools(ToolEnvironment[OpenSpielEnv]):
    """Move the paddle under the falling ball.

    Args:
        base_url: the server.
        columns: width of the board. The server's default board is 10 rows by 5 columns.
        rows: its height.
        **arguments: of the base.
    """

    client_type = OpenSpielEnv
    prompt = CATCH_PROMPT

    def __init__(self, base_url: str, *, rows: int = 10, columns: int = 5, **arguments: Any) -> None:
        super().__init__(base_url, **arguments)
        self._rows, self._columns = rows, columns

    def move(self, direction: Literal["left", "right"]) -> str:
        """Move the paddle one column; the ball falls one row.

        Args:
            direction: Where to move, "left" or "right".

        Returns:
            Where ball and paddle are now.
        """
        if direction not in _ACTIONS:
            raise ValueError(f"direction is {direction!r}; it must be 'left' or 'right'")
        return self._play(_ACTIONS[direction])

    def stay(self) -> str:
        """Keep the paddle where it is; the ball falls one row.

        Returns:
            Where ball and paddle are now.
        """
        return self._play(_STAY)

    def _options(self, columns: dict[str, Any]) -> dict[str, Any]:
        given = super()._options(columns)
        chosen = {"game_name": "catch"}
        if (self._rows, self._columns) != (10, 5):
            chosen |= {"game_params": {"rows": self._rows, "columns": self._columns}}  # type: ignore[dict-item]
        return {**chosen, **given}

    def _first_message(self, result: StepResult[Any]) -> str:
        return self._tell(result)

    def _play(self, action: int) -> str:
        return self._tell(self._step(OpenSpielAction(action_id=action)))

    def _tell(self, result: StepResult[Any]) -> str:
        if result.done:
            return "You caught the ball." if result.observation.success else "You missed the ball."
        board = result.observation.info_state
        ball = next(index for index, cell in enumerate(board) if cell == 1.0)
        paddle = board[-self._columns :].index(1.0)
        row, column = divmod(ball, self._columns)
        side = "to the left" if column < paddle else "to the right" if column > paddle else "right above"
        return (
            f"Row {row + 1} of {self._rows}: the ball is in column {column + 1}, the paddle in column {paddle + 1}.\n"
            f"The ball is {side}."
        )


@reward_function(CatchTools)
def catch_reward(tools: CatchTools) -> float:
    """1 for a ball that was caught, 0 for one that was missed and for a game that was not played to its end."""
    return 1.0 if tools.success else 0.0


@reward_function(CatchTools)
def catch_win_reward(tools: CatchTools) -> float:
    """The game's own payment, 1 or -1; 0 for a game that was not played to its end."""
    return float(sum(tools.episode.rewards))
