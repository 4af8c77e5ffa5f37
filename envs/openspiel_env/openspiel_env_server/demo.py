"""A short episode of catch, for the demonstration."""

from collections.abc import Iterator

from openenv_core.types import StepResult
from openspiel_env import OpenSpielAction, OpenSpielEnv, OpenSpielObservation

__all__ = ["move_under_the_ball", "play"]

_COLUMNS = 5
_LEFT, _STAY, _RIGHT = 0, 1, 2


def move_under_the_ball(observation: OpenSpielObservation) -> OpenSpielAction:
    """The best action in a catch of five columns: towards the column of the ball.

    The board comes row by row, one number per cell; the paddle is in the last row, the ball above it until the end.
    """
    board = observation.info_state
    ball, paddle = board.index(1.0) % _COLUMNS, board[-_COLUMNS:].index(1.0)
    action = _LEFT if ball < paddle else _RIGHT if ball > paddle else _STAY
    return OpenSpielAction(action_id=action)


def play(env: OpenSpielEnv) -> Iterator[StepResult[OpenSpielObservation]]:
    """Catch the ball, looking at the board before each move."""
    result = env.reset(seed=7, game_name="catch", game_params={"rows": 10, "columns": _COLUMNS})
    yield result
    while not result.done:
        result = env.step(move_under_the_ball(result.observation))
        yield result
