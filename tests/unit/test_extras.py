"""What is said where an extra is not installed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from openenv_core.extras import MODULES, needs_extra, why_missing


def without(*modules: str, code: str, words: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run some code in an interpreter that has not those modules."""
    program = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {modules!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        f"sys.argv = {['openenv', *words]!r}\n{code}\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, timeout=50, check=False
    )


@pytest.mark.parametrize(
    ("modules", "words", "told"),
    [
        (("fastapi", "uvicorn", "starlette"), ["serve", "echo_env"], "pip install 'openenv-core[server,cli]'"),
        (("rich",), ["list"], "pip install '.[server,cli]'"),
        (("typer",), ["list"], "pip install '.[server,cli]'"),
        (("gymnasium",), ["serve", "gym:CartPole-v1"], "pip install 'openenv-core[gymnasium]'"),
    ],
)
def test_a_command_says_what_to_install(modules: tuple[str, ...], words: list[str], told: str, tmp_path: Path) -> None:
    code = "from openenv_core.cli.main import main; main()"
    done = without(*modules, code=code, words=words, cwd=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_of_the_server_says_what_to_install(tmp_path: Path) -> None:
    done = without("fastapi", code="from openenv_core import create_app", words=[], cwd=tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: create_app cannot be loaded: fastapi is not installed")
    assert "openenv-core[server,cli]" in last


def test_what_is_of_no_extra_is_not_explained() -> None:
    assert why_missing(ModuleNotFoundError("gone", name="no_such_module")) is None
    assert why_missing(ImportError("cannot import name", name="rich")) is None
    assert why_missing(ModuleNotFoundError("bare")) is None
    assert needs_extra("pushing needs", "hub").startswith("pushing needs the extra `hub`: pip install ")


def test_every_module_that_an_extra_brings_is_known() -> None:
    providers = importlib.metadata.packages_distributions()
    for text in importlib.metadata.requires("openenv-core") or ():
        wanted = Requirement(text)
        for extra, modules in MODULES.items():
            if wanted.marker is None or not wanted.marker.evaluate({"extra": extra}):
                continue
            brought = {name for name, owners in providers.items() if wanted.name in {o.lower() for o in owners}}
            public = {name for name in brought if not name.startswith("_")}
            assert not public or public & {module for each in MODULES.values() for module in each}, (extra, text)
            assert modules
