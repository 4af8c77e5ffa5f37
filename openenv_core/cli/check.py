"""``openenv check``: what an environment promises, checked one by one."""

import json
import logging
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from openenv_core.conformance.report import Report

__all__ = ["check"]

_CANNOT_BE_CHECKED = 2
_WORDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _print_checks(wanted: bool) -> None:
    if not wanted:
        return
    from openenv_core.conformance.checks import CHECKS

    for each in CHECKS:
        print(f"{each.name:22}{each.demand}")
    raise typer.Exit


def check(
    target: Annotated[str, typer.Argument(help="Name of an installed environment, module:Class, gym:ID, or a URL.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    seed: Annotated[int, typer.Option(help="First seed; the same seed plays the same episodes.")] = 0,
    episodes: Annotated[int, typer.Option(help="Number of seeds that are played.")] = 3,
    steps: Annotated[int, typer.Option(help="An episode is played no longer than this.")] = 50,
    timeout: Annotated[float, typer.Option(help="Limit of one call, in seconds.")] = 60.0,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run this check and no other; repeatable.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Leave this check out; repeatable.")] = None,
    listed: Annotated[
        bool, typer.Option("--list", callback=_print_checks, is_eager=True, help="List the checks and exit.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the server's log on stderr.")] = False,
) -> None:
    """Check an environment: seeds, sessions, schemas, refusals, rewards, and what else it promises.

    A class or an installed environment is served here and checked over its protocol and in the open; a URL is checked
    over its protocol alone. The variable OPENENV_TOKEN is the token of a server that asks for one.

    Exit code 0: no check failed; 1: at least one did; 2: the target could not be checked.
    """
    import os

    from openenv_core import conformance
    from openenv_core.errors import OpenEnvError

    _configure_logging(verbose)
    options: dict[str, Any] = {"seed": seed, "episodes": episodes, "steps": steps, "timeout_s": timeout}
    try:
        report = conformance.check(
            target, only=only or (), skip=skip or (), token=os.environ.get("OPENENV_TOKEN") or None, **options
        )
    except Exception as error:
        logging.getLogger(__name__).info("cannot be checked", exc_info=error)
        told = error.message if isinstance(error, OpenEnvError) else f"{type(error).__name__}: {error}"
        if not verbose:
            told += " (--verbose shows the log)"
        typer.secho(f"error: {target} cannot be checked: {told}", fg=typer.colors.RED, err=True)
        raise typer.Exit(_CANNOT_BE_CHECKED) from error
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        _print_table(report)
    raise typer.Exit(0 if report.ok else 1)


def _configure_logging(verbose: bool) -> None:
    """What the checks provoke fills the log with errors that are no news."""
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    else:
        logging.getLogger().addHandler(logging.NullHandler())


def _print_table(report: "Report") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from openenv_core.cli._tables import print_table
    from openenv_core.conformance.report import Verdict

    colours = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.SKIP: "yellow"}
    table = Table("check", "verdict", "reason", title=f"{escape(report.target)}, seed {report.seed}")
    for result in report.results:
        table.add_row(result.name, f"[{colours[result.verdict]}]{result.verdict}[/]", escape(result.reason))
    console = Console()
    print_table(table)
    counts = ", ".join(f"{len(report.of(Verdict(verdict)))} {word}" for verdict, word in _WORDS.items())
    console.print(f"{escape(report.target)}: {counts}")
