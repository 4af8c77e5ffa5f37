"""``openenv sessions``: who holds the slots of a server."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["sessions"]

_TIMEOUT_S = 15.0


def sessions(
    url: Annotated[str, typer.Argument(help="Address of a server, for example http://127.0.0.1:8000.")],
    close: Annotated[
        list[str] | None, typer.Option("--close", metavar="id", help="End this session; may be given more than once.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the sessions of a running server, or end some.

    A terminal that is too narrow shows the most important columns; a pipe and --json have them all.

    A server with a token is sent the one in the variable OPENENV_TOKEN.
    """
    import json
    from urllib.parse import quote

    import httpx

    from openenv_core.client._base import is_loopback

    address = (url if "://" in url else f"http://{url}").rstrip("/")
    token = os.environ.get("OPENENV_TOKEN", "").strip()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    # A proxy of the machine's settings does not reach the machine itself.
    proxied = not is_loopback(address)
    with httpx.Client(base_url=address, headers=headers, timeout=_TIMEOUT_S, trust_env=proxied) as client:
        for session_id in close or ():
            ended = _ask(client, "DELETE", f"/sessions/{quote(session_id, safe='')}")
            told = "closed" if ended["closed"] else "closing: a call of it still runs"
            print(f"{session_id} {told}")
        if not close:
            listed = _ask(client, "GET", "/sessions")
            print(json.dumps(listed)) if as_json else _print_table(listed)


def _ask(client: Any, method: str, path: str) -> Any:
    import httpx

    from openenv_core.errors import ConnectionFailedError, error_from_wire

    try:
        answer = client.request(method, path)
        body = answer.json()
    except httpx.HTTPError as error:
        raise ConnectionFailedError(f"no answer from {client.base_url}: {error}") from error
    except ValueError:
        body = {}
    if answer.is_success and isinstance(body, dict):
        return body
    if "code" not in body:
        raise ConnectionFailedError(f"{client.base_url} answered {answer.status_code}: is this an environment server?")
    hint = "; set OPENENV_TOKEN" if answer.status_code == 401 and not client.headers.get("authorization") else ""
    raise error_from_wire(body["code"], body["message"] + hint, body.get("details", {}))


def _print_table(listed: Any) -> None:
    from openenv_core.cli._tables import fits, print_table

    table = _table(listed, _COLUMNS)
    print_table(table if fits(table) else _table(listed, [name for name in _COLUMNS if name not in _SPARED]))


def _table(listed: Any, columns: Sequence[str]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    waiting = f", {listed['queued']} waiting" if listed["queued"] else ""
    title = f"{listed['active']} of {listed['max']} sessions{waiting}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        is_number = name in ("age", "idle", "steps", "in all")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=name == "id")
    for row in listed["sessions"]:
        cells = _cells(row)
        table.add_row(*(Text(cells[name]) for name in columns))
    return table


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        **{name: str(row[name]) for name in ("id", "caller", "door", "backend", "state")},
        "age": f"{row['age_s']:.0f} s",
        "idle": f"{row['idle_s']:.0f} s",
        "steps": str(row["steps"]),
        "in all": str(row["steps_in_all"]),
        "episode": " ".join(filter(None, (row["episode"].replace("_", " "), row["episode_id"]))),
    }


_COLUMNS = ("id", "caller", "state", "age", "idle", "steps", "in all", "door", "backend", "episode")
_SPARED = frozenset({"in all", "door", "backend", "episode"})
"""What a terminal that is too narrow for all of it does without; ``--json`` has it."""
