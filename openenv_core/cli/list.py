"""``openenv list``: the installed environments."""

from typing import Annotated

import typer

__all__ = ["list_environments"]


def list_environments(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the installed environments, and why one that is installed does not load."""
    from openenv_core.cli.targets import installed, load_spec
    from openenv_core.errors import ConfigurationError

    rows: list[dict[str, str]] = []
    for name, entry in installed().items():
        version = entry.dist.version if entry.dist is not None else ""
        try:
            spec = load_spec(name)
            row = {
                "name": name,
                "version": version,
                "client": spec.client,
                "description": spec.description,
                "error": "",
            }
            row["variants"] = ", ".join(spec.variants or ())
        except ConfigurationError as error:
            row = {"name": name, "version": version, "client": "", "description": "", "error": error.message}
        rows.append(row)
    if as_json:
        import json

        print(json.dumps(rows))
        return
    _print_table(rows)


def _print_table(rows: list[dict[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    if not rows:
        print("No environment is installed. Install one, for example: pip install ./envs/echo_env")
        return
    table = Table("environment", "version", "client", "what it is")
    for row in rows:
        what = row["description"] if not row["error"] else f"[red]{row['error']}[/red]"
        variants = f"\n[dim]variants: {row['variants']}[/dim]" if row.get("variants") else ""
        table.add_row(row["name"], row["version"], row["client"], what + variants)
    Console().print(table)
