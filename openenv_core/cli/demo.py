"""``openenv demo``: play a real episode in every installed environment."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

__all__ = ["demo"]


@dataclass
class _Played:
    """One row of the table."""

    name: str
    steps: int
    reward: float
    seconds: float
    success: bool | None


def demo(
    names: Annotated[list[str] | None, typer.Argument(help="Environments to play; default: all installed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Start a server for each environment, play an episode through its typed client, and print what came of it.

    Each server is a process of its own on a free port of 127.0.0.1, and ends with the demonstration.
    """
    from rich.console import Console

    from openenv_core.errors import ConfigurationError
    from openenv_core.targets import installed, load_spec

    console = Console(stderr=as_json)
    chosen = names or list(installed())
    if not chosen:
        raise ConfigurationError("no environment is installed; try: pip install ./clients/echo_env ./envs/echo_env")
    played = [_play(load_spec(name), console) for name in chosen]
    if as_json:
        import dataclasses
        import json

        print(json.dumps([dataclasses.asdict(row) for row in played]))
    else:
        console.print(_table(played))


def _play(spec: Any, console: Any) -> _Played:
    import time

    from openenv_core.errors import ConfigurationError
    from openenv_core.runtimes.process import ProcessRuntime
    from openenv_core.targets import load_object

    if spec.demo is None:
        raise ConfigurationError(f"environment {spec.name!r} has no demonstration")
    play, client_class = load_object(spec.demo), load_object(spec.client)
    with ProcessRuntime(spec.name) as runtime, client_class(base_url=runtime.base_url) as client:
        console.print(f"[bold]{spec.name}[/bold] is up at {runtime.base_url}")
        row = _Played(spec.name, -1, 0.0, 0.0, None)
        seen: list[dict[str, Any]] = []
        episode = play(client)
        while True:
            started = time.perf_counter()
            result = next(episode, None)
            row.seconds += time.perf_counter() - started
            if result is None:
                _draw_board(seen, client, console)
                return row
            row.steps += 1
            row.reward += result.reward or 0.0
            row.success = getattr(result.observation, "success", None)
            seen.append(result.observation.model_dump(mode="json"))
            reward = "" if result.reward is None else f"  reward {result.reward:g}"
            name = "reset" if row.steps == 0 else f"step {row.steps}"
            console.print(f"  {name}{reward}  {_shown(seen)}", no_wrap=True, overflow="ellipsis")


def _shown(seen: list[dict[str, Any]]) -> str:
    """One line of what is seen: the rows of the board that have changed, or the words of a view without a board."""
    from rich.markup import escape

    from openenv_core.rendering import Text, view_of

    now = view_of(seen, {})
    rows, before = _rows(now), _rows(view_of(seen[:-1], {})) if len(seen) > 1 else []
    changed = [row for row, old in zip(rows, before, strict=False) if row != old]
    words = " ".join(f"{part.label} {part.text}" for part in now if isinstance(part, Text))
    return f"[dim]{escape('  /  '.join(changed) if changed else ' '.join(words.split()))}[/dim]"


def _rows(parts: list[Any]) -> list[str]:
    """The rows of the first board, as text."""
    from openenv_core.rendering import Grid

    board = next((part for part in parts if isinstance(part, Grid)), None)
    return [" ".join(_cell(cell) for cell in row) for row in board.rows] if board is not None else []


def _cell(cell: Any) -> str:
    return f"{cell.text.strip()}:{cell.mark}" if cell.mark else cell.text.strip()


def _draw_board(seen: list[dict[str, Any]], client: Any, console: Any) -> None:
    """The board at the end, where the environment has one."""
    from openenv_core.cli._drawing import draw
    from openenv_core.rendering import Grid, view_of

    boards = [part for part in view_of(seen, client.state().model_dump(mode="json")) if isinstance(part, Grid)]
    if boards:
        console.print(draw(boards, console))


def _table(played: list[_Played]) -> Any:
    from rich.table import Table

    table = Table("environment", title="One episode each, over a WebSocket")
    for heading in ("steps", "reward", "time per step", "solved"):
        table.add_column(heading, justify="right")
    for row in played:
        per_step = f"{1000 * row.seconds / max(row.steps, 1):.2f} ms"
        solved = "" if row.success is None else "yes" if row.success else "no"
        table.add_row(row.name, str(row.steps), f"{row.reward:g}", per_step, solved)
    return table
