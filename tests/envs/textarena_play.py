"""Playing the TextArena environment object, for its tests."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import source_path
from textarena_env import TextArenaAction, TextArenaObservation
from textarena_env_server import TextArenaEnvironment
from textarena_env_server.words import allowed_words, common_words

__all__ = ["act", "episode", "game_of", "hide", "play_original", "run_python", "secret_of", "wrong_words"]

_ORIGINAL = Path(__file__).parent / "textarena_original.py"


def act(environment: TextArenaEnvironment, message: str) -> TextArenaObservation:
    """One step."""
    return environment.step(TextArenaAction(message=message))


def game_of(environment: TextArenaEnvironment) -> Any:
    """The library's own game, which never leaves the server."""
    transcript = environment._transcript
    assert transcript is not None
    return transcript.game


def secret_of(environment: TextArenaEnvironment) -> str:
    """The word that Wordle hides."""
    return str(game_of(environment).state.game_state["secret_word"])


def hide(environment: TextArenaEnvironment, word: str) -> TextArenaObservation:
    """Start a game of Wordle that hides ``word``."""
    observation = environment.reset(seed=0)
    game_of(environment).state.game_state["secret_word"] = word
    return observation


def wrong_words(secret: str, count: int) -> list[str]:
    """Allowed words other than the secret, spread over the list."""
    words = [word for word in allowed_words(len(secret)) if word != secret]
    return words[:: len(words) // count][:count]


def episode(environment: TextArenaEnvironment, seed: int | None, moves: Sequence[str]) -> list[TextArenaObservation]:
    """The observations of an episode with these moves, until it ends; the reset's first."""
    seen = [environment.reset(seed=seed)]
    for move in moves:
        seen.append(act(environment, move))
        if seen[-1].done:
            break
    return seen


def run_python(code: str, *arguments: str, environment: dict[str, str] | None = None, feed: str = "") -> str:
    """The output of a program in a process of its own, which sees the source tree and little else."""
    done = subprocess.run(
        [sys.executable, "-W", "error", code, *arguments]
        if code.endswith(".py")
        else [sys.executable, "-W", "error", "-c", code, *arguments],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": source_path(), **(environment or {})},
        input=feed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def play_original(games: Sequence[tuple[str, int, Sequence[str]]]) -> list[dict[str, Any]]:
    """What TextArena itself does with these games: id, seed and moves of each."""
    with tempfile.TemporaryDirectory() as folder:
        order = {"folder": folder, "allowed": allowed_words(), "common": common_words(), "games": games}
        done = subprocess.run(
            [sys.executable, str(_ORIGINAL)],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    played: list[dict[str, Any]] = json.loads(done.stdout)
    return played
