"""The libraries themselves at the games, in one process without a server: the other side of ``benchmarks.games``."""

import contextlib
import io
import json
import os
import random
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.game_seats import serve_seats

__all__: list[str] = []

_folder: "tempfile.TemporaryDirectory[str] | None" = None


def words(allowed: Sequence[str], common: Sequence[str]) -> None:
    """Give TextArena the word lists and the tagger that it would download, in the layout in which NLTK reads them.

    Must be asked for before the first game of TextArena is opened.
    """
    global _folder
    _folder = tempfile.TemporaryDirectory(prefix="openenv-words-")
    root = Path(_folder.name)
    corpus, tagger = root / "corpora/words", root / "taggers/averaged_perceptron_tagger_eng"
    for folder, files in {
        corpus: {"en": "\n".join(allowed), "en-basic": "\n".join(common)},
        # A tagger that has seen nothing calls every word by its only class: a noun, as Wordle wants them.
        tagger: {
            f"averaged_perceptron_tagger_eng.{part}.json": json.dumps(content)
            for part, content in (("weights", {}), ("tagdict", {}), ("classes", ["NN"]))
        },
    }.items():
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_text(content)
    os.environ["NLTK_DATA"] = str(root)
    # A download is tried at every game's construction, and waits for a network that may not be there.
    vars(import_module("nltk"))["download"] = lambda *_, **__: True


class _TextArenaSeat:
    """A game of TextArena as ``ta.make`` gives it."""

    def __init__(self, seed: int, env_id: str, moves: Sequence[Sequence[str]]) -> None:
        self._ta: Any = import_module("textarena")
        self._env_id, self._moves, self._seed = env_id, moves, seed
        self._open()

    def _open(self) -> None:
        # A new object for each game: one that is reset shows the transcript of the game before.
        with contextlib.redirect_stdout(io.StringIO()):
            self._env: Any = self._ta.make(self._env_id)
        self._env.reset(num_players=1, seed=self._seed)
        self._env.get_observation()
        self._left = iter(self._moves[self._seed % len(self._moves)])
        self._done = False

    def prepare(self) -> None:
        """The next of the planned moves; a new game where there is none left."""
        move = None if self._done else next(self._left, None)
        if move is None:
            self._env.reset(num_players=1, seed=self._seed)
            self._env.get_observation()
            self._left = iter(self._moves[self._seed % len(self._moves)])
            move = next(self._left)
        self._move = move

    def move(self) -> None:
        """One step, and the observation after it."""
        self._done, _ = self._env.step(self._move)
        if not self._done:
            self._env.get_observation()

    def close(self) -> None:
        """Let go of the game."""
        self._env = None


class _SpielSeat:
    """A game of OpenSpiel, with chance and an opponent who moves at random."""

    def __init__(self, seed: int, name: str) -> None:
        self._game: Any = import_module("pyspiel").load_game(name)
        self._random = random.Random(seed)
        self._deal()

    def _deal(self) -> None:
        self._state = self._game.new_initial_state()
        self._others()

    def _others(self) -> None:
        """Chance and the opponent move until it is the player's turn; then what the player sees is read."""
        state = self._state
        while not state.is_terminal() and state.current_player() != 0:
            if state.is_chance_node():
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(self._random.choices(actions, weights)[0])
            else:
                state.apply_action(self._random.choice(state.legal_actions()))
        state.observation_tensor(0)
        state.observation_string(0)
        state.returns()
        self._legal = state.legal_actions()

    def prepare(self) -> None:
        """The first legal action."""
        if not self._legal:
            self._deal()
        self._action = self._legal[0]

    def move(self) -> None:
        """Play it, and what follows up to the player's next turn."""
        self._state.apply_action(self._action)
        self._others()

    def close(self) -> None:
        """Let go of the game."""
        self._state = None


if __name__ == "__main__":
    serve_seats(
        {
            "Wordle": partial(_TextArenaSeat, env_id="Wordle-v0"),
            "Sudoku": partial(_TextArenaSeat, env_id="Sudoku-v0"),
            "catch": partial(_SpielSeat, name="catch"),
            "tic_tac_toe": partial(_SpielSeat, name="tic_tac_toe"),
        },
        words=words,
    )
