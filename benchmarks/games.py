"""Games on our server against the libraries used directly in one process: ``python -m benchmarks.games``.

For each game and number of sessions: the time to open a session with its first reset, the time of one step, and the
memory that a session costs. Sessions take turns, one call at a time. ``ours`` is the server of ``openenv serve`` with
blocking clients in another process; ``library`` is ``textarena.make`` or ``pyspiel`` in a process of its own, with no
protocol, no isolation and no seeds that hold; ``echo`` is our server's echo environment, whose own work is nil.
"""

import argparse
import contextlib
import json
import os
import platform
import signal
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import Row, interleaved, print_table, write_json
from benchmarks.processes import REPOSITORY, ServerProcess, running, source_path
from benchmarks.worker import Worker
from textarena_env_server import TextArenaEnvironment
from textarena_env_server.players import read_board, sudoku_moves
from textarena_env_server.words import allowed_words, common_words

__all__ = ["main"]

_US, _MS, _MB = 1e6, 1e3, 2.0**-20
_CONTESTANTS = ["ours", "library", "echo"]
_BOARDS = 4
"""So many Sudokus are solved beforehand: the library's sessions play them in turn."""


@dataclass(frozen=True)
class Game:
    """One game.

    Attributes:
        name: what the table calls it.
        target: what is served.
        variables: environment variables that choose the game.
    """

    name: str
    target: str
    variables: Mapping[str, str]


GAMES = (
    Game("Wordle", "textarena_env_server:spec", {"TEXTARENA_ENV_ID": "Wordle-v0"}),
    Game("Sudoku", "textarena_env_server:spec", {"TEXTARENA_ENV_ID": "Sudoku-v0"}),
    Game("catch", "openspiel_env_server:spec", {"OPENSPIEL_GAME": "catch"}),
    Game("tic_tac_toe", "openspiel_env_server:spec", {"OPENSPIEL_GAME": "tic_tac_toe"}),
)
_ECHO = Game("echo", "echo_env_server:spec", {})


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        scales: numbers of sessions.
        seconds: length of one sample of a step.
        repeats: samples of a step.
        single: how often a single session is opened.
    """

    scales: tuple[int, ...]
    seconds: float
    repeats: int
    single: int


_FULL = Effort(scales=(1, 8, 64), seconds=0.15, repeats=21, single=8)
_QUICK = Effort(scales=(1, 8), seconds=0.1, repeats=5, single=3)


@dataclass
class Target:
    """A figure that is to be reached.

    Attributes:
        figure: what it is.
        value: what was measured; ``None`` where it was not.
        at_most: the limit, in the same unit.
        unit: of both.
    """

    figure: str
    value: float | None
    at_most: float
    unit: str

    def cells(self) -> list[str]:
        """The row of the printed table."""
        if self.value is None:
            return [self.figure, "not measured", f"<= {self.at_most:g} {self.unit}", ""]
        reached = "yes" if self.value <= self.at_most else "NO"
        return [self.figure, f"{self.value:.3g} {self.unit}", f"<= {self.at_most:g} {self.unit}", reached]


@contextlib.contextmanager
def _worker(module: str) -> Iterator[Worker]:
    environment = {**os.environ, "PYTHONPATH": source_path()}
    worker = Worker([sys.executable, "-m", f"benchmarks.{module}"], environment, REPOSITORY)
    try:
        yield worker
    finally:
        worker.stop()


@contextlib.contextmanager
def _served(game: Game) -> Iterator[ServerProcess]:
    command = [sys.executable, "-m", "openenv_core.cli", "serve", game.target, "--port", "{port}"]
    with running(command, environment={"PYTHONPATH": source_path(), **game.variables}) as server:
        yield server


@dataclass(frozen=True)
class Side:
    """One contestant at one game: a process that holds its sessions, and where its memory is read.

    Attributes:
        worker: the process.
        game: the game's name.
        arguments: what else opening a session needs.
        memory: reads the memory of the process that runs the game, in bytes.
    """

    worker: Worker
    game: str
    arguments: Mapping[str, Any]
    memory: Callable[[], float]

    def open(self, sessions: int) -> list[float]:
        """Open so many; the seconds of each."""
        times: list[float] = self.worker.ask("open", game=self.game, sessions=sessions, **self.arguments)
        return times

    def opened(self, sessions: int, rounds: int) -> tuple[list[float], float]:
        """Seconds of each opening, and bytes for each session, after a first one has come and gone. They stay open."""
        self.open(1)
        self.worker.ask("close")
        before = self.memory()
        times = self.open(sessions)
        cost = (self.memory() - before) / sessions
        for _ in range(rounds - 1):
            self.worker.ask("close")
            times += self.open(sessions)
        return times, cost

    def step(self, seconds: float) -> Callable[[], float]:
        """A measure of one step."""
        return partial(self.worker.measure, "step", seconds=seconds)


def _library_arguments(game: Game) -> dict[str, Any]:
    """The moves that the library's sessions make: the same that ours make."""
    if game.name == "Wordle":
        return {"moves": [[f"[{word}]" for word in allowed_words(5)[::97][:6]]]}
    if game.name != "Sudoku":
        return {}
    environment = TextArenaEnvironment("Sudoku-v0")
    boards = [read_board(environment.reset(seed=seed).delta) for seed in range(_BOARDS)]
    return {"moves": [list(sudoku_moves(board)) for board in boards if board is not None]}


def _measure(game: Game, sessions: int, effort: Effort, echo: Side) -> list[Row]:
    rounds = effort.single if sessions == 1 else 1
    with (
        _served(game) as server,
        _worker("game_clients") as clients,
        _worker("game_libraries") as library,
    ):
        library.ask("words", allowed=list(allowed_words()), common=list(common_words()))
        sides = {
            "ours": Side(clients, game.name, {"url": server.base_url}, lambda: float(server.memory())),
            "library": Side(library, game.name, _library_arguments(game), lambda: library.measure("memory")),
        }
        opened = {name: side.opened(sessions, rounds) for name, side in sides.items()}
        echo.open(sessions)
        measures = {name: side.step(effort.seconds) for name, side in {**sides, "echo": echo}.items()}
        steps = interleaved(measures, effort.repeats)
        echo.worker.ask("close")
    label = f"{game.name}, {sessions} session{'s' if sessions > 1 else ''}"
    times = {name: times for name, (times, _) in opened.items()}
    costs = {name: [cost] for name, (_, cost) in opened.items()}
    return [
        Row(f"{label}: open + reset", "ms", times, "library", scale=_MS),
        Row(f"{label}: step", "us", steps, "library", scale=_US),
        Row(f"{label}: memory of one", "MB", costs, "library", scale=_MB),
    ]


def _cells(row: Row) -> list[str]:
    """The row of the printed table. Most ratios are far from 1, to either side."""
    *values, _, _, _ = row.cells(_CONTESTANTS)
    return [*values, f"{row.ratio:.3g}" if row.ratio is not None else ""]


def _overhead(step: Row) -> float:
    """What the server adds to a step of the library, over what it adds to the echo's, which is all of it."""
    columns = (step.samples[name] for name in ("ours", "library", "echo"))
    overheads = [(ours - library) / echo for ours, library, echo in zip(*columns, strict=True)]
    return float(statistics.median(overheads))


def _targets(rows: Mapping[tuple[str, int], list[Row]]) -> list[Target]:
    most = max(sessions for _, sessions in rows)
    wordle = rows["Wordle", most]
    exact = most == _FULL.scales[-1]
    found = [
        Target(f"Wordle, open + reset p50 at {most} sessions", wordle[0].median("ours"), 15.0, "ms"),
        Target("Wordle, memory of a session at 64 sessions", wordle[2].median("ours") if exact else None, 1.0, "MB"),
    ]
    for (name, sessions), (_, step, _) in rows.items():
        figure = f"{name}, step overhead at {sessions} session{'s' if sessions > 1 else ''}"
        found.append(Target(figure, _overhead(step), 1.3, "x echo"))
    return found


def _facts(effort: Effort) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()} {platform.release()}",
        "packages": {name: version(name) for name in ("textarena", "open_spiel", "pydantic", "uvicorn", "websockets")},
        "load_average": os.getloadavg(),
        "seconds": effort.seconds,
        "repeats": effort.repeats,
    }


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.games", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument("--quick", action="store_true", help="1 and 8 sessions only, few samples")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(words)
    # Told to stop, it stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    effort = _QUICK if arguments.quick else _FULL
    facts = _facts(effort)
    print(json.dumps(facts))
    rows: dict[tuple[str, int], list[Row]] = {}
    with _served(_ECHO) as server, _worker("game_clients") as clients:
        echo = Side(clients, "echo", {"url": server.base_url}, lambda: float(server.memory()))
        for game in GAMES:
            for sessions in effort.scales:
                rows[game.name, sessions] = _measure(game, sessions, effort, echo)
                for row in rows[game.name, sessions]:
                    # The whole takes minutes: each figure is told when it has been measured.
                    print("  ".join(cell for cell in _cells(row) if cell), file=sys.stderr, flush=True)
    table = [row for measured in rows.values() for row in measured]
    header = ["figure", "unit", *_CONTESTANTS, "ours / library"]
    print_table("Against the libraries in one process", header, [_cells(row) for row in table])
    targets = _targets(rows)
    print_table("Targets", ["figure", "measured", "target", "reached"], [target.cells() for target in targets])
    if arguments.json:
        write_json(arguments.json, {**facts, "targets": [target.cells() for target in targets]}, {"figures": table})


if __name__ == "__main__":
    main()
