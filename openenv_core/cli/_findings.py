"""Findings as a table, and what a command makes of them."""

import json
from collections.abc import Sequence

import typer

from openenv_core.packaging.findings import Finding, Severity, as_json, worst

__all__ = ["conclude"]

_COLOURS = {Severity.OK: "green", Severity.SKIP: "dim", Severity.WARNING: "yellow", Severity.ERROR: "red"}


def conclude(target: str, findings: Sequence[Finding], *, in_json: bool, strict: bool = False) -> None:
    """Print a report and end the command: exit code 1 where there is an error, or with ``strict`` a warning."""
    if in_json:
        print(json.dumps(as_json(target, findings)))
    else:
        _print_table(target, findings)
    bad = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    raise typer.Exit(1 if worst(findings) in bad else 0)


def _print_table(target: str, findings: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from openenv_core.cli._tables import print_table

    console = Console(highlight=False)
    table = Table("what", "is", "seen", title=Text(target))
    for finding in findings:
        seen = Text(finding.message)
        if finding.remedy and finding.severity in (Severity.WARNING, Severity.ERROR):
            seen.append(f"\n→ {finding.remedy}", "bold")
        table.add_row(finding.name, Text(finding.severity, _COLOURS[finding.severity]), seen)
    print_table(table)
    counts = ", ".join(f"{sum(row.severity is each for row in findings)} {each}" for each in Severity)
    console.print(f"{target}: {counts}", markup=False)
