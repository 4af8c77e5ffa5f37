"""A client costs little to import: no web framework, no UI toolkit, no array library comes with it."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.source import REPOSITORY

HEAVY = {
    *("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "httpx", "jinja2"),
    *("typer", "click", "rich"),
    *("numpy", "PIL", "gymnasium", "torch", "transformers", "trl"),
}

PROBE = "import sys, json; {code}; print(json.dumps(sorted(sys.modules)))"


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has after running some code."""
    path = os.pathsep.join(map(str, [REPOSITORY, REPOSITORY / "clients/echo_env"]))
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(code=code)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "code",
    [
        "import openenv_core",
        "import openenv_core.client",
        "import openenv_core.environment",
        "import echo_env",
        "from echo_env import EchoEnv; EchoEnv(base_url='http://127.0.0.1:1')",
        "import openenv_core.wire.codec",
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    roots = {name.partition(".")[0] for name in loaded_by(code)}
    assert roots & HEAVY == set()


def test_a_client_loads_no_module_of_a_server() -> None:
    loaded = loaded_by("import echo_env")
    sides = {".".join(name.split(".")[:2]) for name in loaded}
    assert sides & {f"openenv_core.{part}" for part in ("server", "sessions", "backends", "cli")} == set()


def test_the_server_side_names_load_when_they_are_used() -> None:
    loaded = loaded_by("import openenv_core; openenv_core.create_app")
    assert "fastapi" in loaded
    assert "openenv_core.server.app" in loaded
