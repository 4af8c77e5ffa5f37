"""The README is a program: every block of it runs."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openenv_core.runtimes.process import ProcessRuntime
from tests.cli.api import Api, api, follow_the_ball

_ROOT = Path(__file__).parent.parent
_TEXT = (_ROOT / "README.md").read_text()
_BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", _TEXT, flags=re.MULTILINE | re.DOTALL)
# What starts a container is run by tests/containers, where there is an engine.
_PYTHON = [code for language, code in _BLOCKS if language == "python" and "from_docker_image" not in code]
_SHELL = [code for language, code in _BLOCKS if language == "bash"]
_LIMIT_S = 120

_SERVE = """{line} --port {port} >server.log 2>&1 & server=$!
trap 'kill $server; wait $server || true' EXIT
for _ in $(seq 600); do
  python -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=2)' {url}/health 2>/dev/null && break
  kill -0 $server || {{ cat server.log; exit 1; }}
  sleep 0.1
done
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ProcessRuntime]:
    """The server that the README starts before it shows its clients."""
    with ProcessRuntime("echo_env") as runtime:
        yield runtime


@pytest.fixture(scope="module")
def model() -> Iterator[Api]:
    """The model that the README evaluates."""
    with api(follow_the_ball) as served:
        yield served


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_every_block_has_a_language_that_is_tested() -> None:
    languages = {language for language, _ in _BLOCKS}
    assert languages <= {"python", "bash"}
    assert len(_PYTHON) >= 4
    assert len(_SHELL) >= 4
    assert _TEXT.count("```") == 2 * len(_BLOCKS)


@pytest.mark.parametrize("code", _PYTHON, ids=range(len(_PYTHON)))
def test_python_block_runs(code: str, server: ProcessRuntime, tmp_path: Path) -> None:
    program = tmp_path / "block.py"
    program.write_text(code.replace("http://127.0.0.1:8000", server.base_url))
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", _SHELL, ids=range(len(_SHELL)))
def test_shell_block_runs(code: str, server: ProcessRuntime, model: Api, tmp_path: Path) -> None:
    if "curl " in code and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    free = _free_port()
    base_url = f"http://127.0.0.1:{free}" if "openenv serve" in code else server.base_url
    code = code.replace("http://127.0.0.1:8080/v1", model.base_url)
    lines = [_prepared(line, base_url, free) for line in code.splitlines() if line.strip()]
    shutil.copytree(_ROOT / "examples", tmp_path / "examples")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def _prepared(line: str, base_url: str, free: int) -> str:
    """A line as it can run in a test: on free ports, and without installing into this environment."""
    if re.match(r"docker |openenv (build|run) ", line):
        return "true"  # tests/containers types it, where there is an engine
    if line.startswith("make "):
        return f"make -n -C {_ROOT} {line.split()[1]} >/dev/null"
    if line.startswith("pip install"):
        folders = re.findall(r"\./[\w/]+", line)
        assert all((_ROOT / folder / "pyproject.toml").is_file() for folder in folders), line
        return "true"
    if line.startswith("openenv serve"):
        command = re.sub(r" --port \d+", "", line)
        return _SERVE.format(line=command, port=free, url=base_url)
    return line.replace("http://127.0.0.1:8000", base_url)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
