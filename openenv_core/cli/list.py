"""``openenv list``: the installed environments, or all about one of them."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

__all__ = ["list_environments"]


def list_environments(
    name: Annotated[str | None, typer.Argument(help="Tell all about this one: games, variables, fields.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the installed environments, and why one that is installed does not load.

    With a NAME: its variants, games, environment variables, reset options, and the fields of actions and observations.
    """
    if name is not None:
        details = _details(name)
        if as_json:
            print(json.dumps(details))
        else:
            _print_details(details)
        return
    rows = list(_rows())
    if as_json:
        print(json.dumps(rows))
    else:
        _print_table(rows)


def _rows() -> Iterable[dict[str, str]]:
    from openenv_core.errors import ConfigurationError
    from openenv_core.targets import installed, load_spec

    for name, entry in installed().items():
        row = {"name": name, "version": entry.dist.version if entry.dist is not None else ""}
        try:
            spec = load_spec(name)
        except ConfigurationError as error:
            yield {**row, "client": "", "description": "", "error": error.message}
        else:
            more = {"client": spec.client, "description": spec.description, "error": ""}
            yield {**row, **more, "variants": ", ".join(spec.variants or ())}


def _print_table(rows: list[dict[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from openenv_core.cli._tables import print_table

    if not rows:
        print("No environment is installed. Install one, for example: pip install ./envs/echo_env")
        return
    table = Table("environment", "version", "client", "what it is")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for row in rows:
        what = Text(row["description"]) if not row["error"] else Text(row["error"], "red")
        if row.get("variants"):
            what.append(f"\nvariants: {row['variants']}", "dim")
        table.add_row(Text(row["name"]), row["version"], Text(row["client"]), what)
    print_table(table)
    Console(soft_wrap=True).print("openenv list NAME tells more of one, openenv play NAME plays it.", style="dim")


def _details(name: str) -> dict[str, Any]:
    from openenv_core.environment import class_of_factory, traits_of
    from openenv_core.targets import installed, load_spec

    spec = load_spec(name)
    entry = installed()[name]
    cls = class_of_factory(spec.factory)
    return {
        "name": name,
        "version": entry.dist.version if entry.dist is not None else "",
        "description": spec.description,
        "client": spec.client,
        "max_sessions": spec.max_sessions,
        "variants": {variant: dict(variables) for variant, variables in (spec.variants or {}).items()},
        "variables": dict(spec.variables or {}),
        "reset_options": traits_of(cls).reset_options.known if cls is not None else [],
        "action": _fields(spec.action_type),
        "observation": _fields(spec.observation_type),
        "games": _games(spec.games),
    }


def _fields(model: Any) -> dict[str, str]:
    """The fields of a model and what they hold, in a word or two each."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(model).json_schema()
    required = schema.get("required", ())
    return {
        name: _kind(part) + ("" if name in required or "default" not in part else f" = {json.dumps(part['default'])}")
        for name, part in schema.get("properties", {}).items()
    }


def _kind(part: Mapping[str, Any]) -> str:
    if "anyOf" in part:
        return " or ".join(map(_kind, part["anyOf"]))
    if "enum" in part:
        return " | ".join(map(str, part["enum"]))
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    if part.get("type") == "array" and isinstance(part.get("items"), Mapping):
        return f"array of {_kind(part['items'])}"
    return str(part.get("type", "any"))


def _games(path: str | None) -> list[dict[str, Any]]:
    from openenv_core.targets import load_object

    games = load_object(path)() if path is not None else ()
    return [{"game": game.env_id, "runs": game.runs, "note": game.note} for game in games]


def _print_details(details: Mapping[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(f"{details['name']} {details['version']}", style="bold", markup=False)
    console.print(details["description"], markup=False)
    console.print(f"client {details['client']}; up to {details['max_sessions']} sessions by default", markup=False)
    for title, rows in _sections(details):
        if rows:
            _print_section(console, title, rows)


def _sections(details: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, str]]]:
    variants = details["variants"].items()
    yield (
        "variants: openenv play --variant NAME",
        {name: " ".join(f"{variable}={value}" for variable, value in chosen.items()) for name, chosen in variants},
    )
    yield "environment variables", details["variables"]
    yield "reset options", dict.fromkeys(details["reset_options"], "")
    yield "action", details["action"]
    yield "observation", details["observation"]
    games = details["games"]
    yield "games", {game["game"]: game["note"] for game in games if game["runs"]}
    yield "games that do not run here, and why", {game["game"]: game["note"] for game in games if not game["runs"]}


def _print_section(console: Any, title: str, rows: Mapping[str, str]) -> None:
    from rich.columns import Columns
    from rich.table import Table
    from rich.text import Text

    from openenv_core.cli._tables import print_table

    console.print(f"\n{title}", style="bold", markup=False)
    alone = [Text(f"  {name}", "cyan") for name, value in rows.items() if not value]
    if alone:
        console.print(Columns(alone, padding=(0, 1), column_first=True))
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        if value:
            table.add_row(Text(f"  {name}", "cyan"), Text(value))
    if table.row_count:
        print_table(table)
