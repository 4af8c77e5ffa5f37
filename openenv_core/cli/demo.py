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
        episode = play(client)
        while True:
            started = time.perf_counter()
            result = next(episode, None)
            row.seconds += time.perf_counter() - started
            if result is None:
                return row
            row.steps += 1
            row.reward += result.reward or 0.0
            row.success = getattr(result.observation, "success", None)
            reward = "" if result.reward is None else f"  reward {result.reward:g}"
            console.print(f"  {'reset' if row.steps == 0 else f'step {row.steps}'}{reward}  {_shown(result)}")


def _shown(result: Any) -> str:
    """One line of what the agent sees: the first text field of the observation."""
    from rich.markup import escape

    fields = result.observation.model_dump(exclude={"metadata"})
    text = next((value for value in fields.values() if isinstance(value, str) and value.strip()), "")
    line = " ".join(text.split())
    return f"[dim]{escape(line if len(line) <= 90 else '…' + line[-89:])}[/dim]"


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
