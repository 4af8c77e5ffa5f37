"""A short episode, for the demonstration: Wordle and Sudoku are solved, other games get a few moves."""

from collections.abc import Iterator
from random import Random

from openenv_core.types import StepResult
from textarena_env import TextArenaAction, TextArenaEnv, TextArenaObservation
from textarena_env_server.players import WordleSolver, read_board, sample_move, sudoku_moves

__all__ = ["play"]

_MOVES = 12


def play(env: TextArenaEnv) -> Iterator[StepResult[TextArenaObservation]]:
    """Play one game and yield what comes back. The player knows what an observation shows, and the list of words."""
    result = env.reset(seed=7)
    yield result
    yield from _moves(env, result)


def _moves(env: TextArenaEnv, result: StepResult[TextArenaObservation]) -> Iterator[StepResult[TextArenaObservation]]:
    observation = result.observation
    board = read_board(observation.delta)
    if observation.guesses_left is not None:
        yield from _wordle(env)
    elif board is not None:
        for move in sudoku_moves(board):
            yield env.step(TextArenaAction(message=move))
    else:
        random = Random(7)
        for _ in range(_MOVES):
            result = env.step(TextArenaAction(message=sample_move(result.observation, random)))
            yield result
            if result.done:
                return


def _wordle(env: TextArenaEnv) -> Iterator[StepResult[TextArenaObservation]]:
    solver = WordleSolver()
    done = False
    while not done:
        guess = solver.guess()
        result = env.step(TextArenaAction(message=f"[{guess}]"))
        yield result
        done = result.done
        if result.observation.feedback is not None:
            solver.learn(guess, result.observation.feedback)
