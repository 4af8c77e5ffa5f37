"""Captures the golden file of protocol version 1 from servers of the public ``openenv`` package.

Run it from the repository, when the public package changes: ``python -m tests.interop.capture_v1``.
"""

import json
import subprocess
from collections.abc import Callable
from typing import Any

from benchmarks.processes import REPOSITORY, ServerProcess, peer_python, running

from .player import Case, play_http, play_websocket
from .servers import PEER_PLACE, peer_command
from .v1_cases import HTTP_CASES, WEBSOCKET_CASES

__all__ = ["GOLDEN", "main"]

GOLDEN = REPOSITORY / "tests" / "data" / "v1" / "golden.json"

_VERSIONS = (
    "import json, platform; from importlib.metadata import version as v;"
    "names = ['openenv', 'fastapi', 'pydantic', 'uvicorn', 'websockets'];"
    "print(json.dumps({'python': platform.python_version(), **{n: v(n) for n in names}}))"
)


def _versions() -> dict[str, str]:
    output = subprocess.run([str(peer_python()), "-c", _VERSIONS], check=True, capture_output=True, timeout=120)
    found: dict[str, str] = json.loads(output.stdout)
    return found


def _record(cases: list[Case], app: str, server: ServerProcess, play: Callable[[str, Case], Case]) -> list[Case]:
    return [play(server.base_url, case) for case in cases if case["app"] == app]


def _without_prose(case: Case) -> Case:
    """A schema without its descriptions: they belong to the public package and no program depends on them."""
    if case["path"] != "/schema":
        return case
    return {**case, "reply": json.dumps(_drop_descriptions(json.loads(case["reply"])), separators=(",", ":"))}


def _drop_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _drop_descriptions(v) for k, v in value.items() if not (k == "description" and isinstance(v, str))}
    return [_drop_descriptions(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Play every case and write the golden file."""
    websocket: list[Case] = []
    http: list[Case] = []
    for app in ("app", "plain_app", "broken_app"):
        with running(peer_command(app), environment=PEER_PLACE) as server:
            websocket += _record(WEBSOCKET_CASES, app, server, play_websocket)
            http += [_without_prose(case) for case in _record(HTTP_CASES, app, server, play_http)]
    golden = {"captured_with": _versions(), "websocket": websocket, "http": http}
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
