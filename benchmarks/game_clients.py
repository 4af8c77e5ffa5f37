"""Our clients at the games, in a process of their own."""

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from benchmarks.game_seats import serve_seats
from benchmarks.worker import MESSAGE
from echo_env import EchoAction, EchoEnv
from openenv_core.client import EnvClient
from openspiel_env import OpenSpielAction, OpenSpielEnv
from textarena_env import TextArenaAction, TextArenaEnv
from textarena_env_server.players import read_board, sudoku_moves
from textarena_env_server.words import allowed_words

__all__: list[str] = []

Actions = Callable[[Any], Iterator[Any]]


def _wordle(observation: Any) -> Iterator[TextArenaAction]:
    return (TextArenaAction(message=f"[{word}]") for word in allowed_words(5)[::97])


def _sudoku(observation: Any) -> Iterator[TextArenaAction]:
    board = read_board(observation.delta)
    return (TextArenaAction(message=move) for move in (sudoku_moves(board) if board else ()))


def _echo(observation: Any) -> Iterator[EchoAction]:
    return cycle([EchoAction(message=MESSAGE)])


class _ClientSeat:
    """A session of a blocking client."""

    def __init__(self, client: EnvClient[Any, Any, Any], actions: Actions | None, seed: int) -> None:
        self._client = client.connect()
        self._actions = actions
        self._seed = seed
        self._result: Any = client.reset(seed=seed)
        self._left = actions(self._result.observation) if actions is not None else None
        self._action: Any = None

    def prepare(self) -> None:
        """Choose the next move: of the planned ones, or the first legal action."""
        if self._result.done:
            self._seed += 1_000
            self._result = self._client.reset(seed=self._seed)
            self._left = self._actions(self._result.observation) if self._actions is not None else None
        if self._left is not None:
            self._action = next(self._left)
        else:
            self._action = OpenSpielAction(action_id=self._result.observation.legal_actions[0])

    def move(self) -> None:
        """One step over the socket."""
        self._result = self._client.step(self._action)

    def close(self) -> None:
        """End the session."""
        self._client.close()


def _maker(kind: type[EnvClient[Any, Any, Any]], actions: Actions | None) -> Callable[..., _ClientSeat]:
    return lambda seed, url: _ClientSeat(kind(base_url=url), actions, seed)


if __name__ == "__main__":
    serve_seats(
        {
            "Wordle": _maker(TextArenaEnv, _wordle),
            "Sudoku": _maker(TextArenaEnv, _sudoku),
            "catch": _maker(OpenSpielEnv, None),
            "tic_tac_toe": _maker(OpenSpielEnv, None),
            "echo": _maker(EchoEnv, _echo),
        }
    )
