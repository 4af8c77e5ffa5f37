"""A Hub, commands, and small projects to push."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from openenv_core.packaging.wheel import write_core_wheel
from tests.packaging.environments import Environment
from tests.support.commands import Done, Run, openenv
from tests.support.fake_hub import TOKEN, FakeHub, fake_hub
from tests.support.source import REPOSITORY

__all__ = ["Done", "Run", "openenv"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A Hub to which everything here talks, and at which this user is logged in."""
    from huggingface_hub import constants

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # The transport that a real Hub negotiates for large files is another service; LFS is the Hub's own.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with fake_hub(tmp_path / "hub") as running:
        monkeypatch.setattr(constants, "ENDPOINT", running.url)
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """A copy of the echo environment, both projects of it, to be spoilt."""
    for part in ("clients/echo_env", "envs/echo_env"):
        shutil.copytree(REPOSITORY / part, tmp_path / "copy" / part, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "copy" / "envs" / "echo_env"


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A virtual environment with the framework's wheel, which the tests here share."""
    folder = tmp_path_factory.mktemp("environment")
    made = Environment(folder / "venv")
    made.install(write_core_wheel(folder))
    return made


@dataclass(frozen=True)
class Distributions:
    """All distributions of the repository, built.

    Attributes:
        folder: where their files are.
    """

    folder: Path

    def wheel(self, name: str) -> Path:
        """The wheel of a distribution."""
        return next(self.folder.glob(f"{name.replace('-', '_')}-*.whl"))


PROJECTS = (REPOSITORY, *sorted(path.parent for path in REPOSITORY.glob("[ce]*s/*/pyproject.toml")))
"""The folders of the repository's distributions."""


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Builds them all: a source distribution each, and the wheel from that."""
    folder = tmp_path_factory.mktemp("distributions")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda project: _build(project, folder), PROJECTS))
    return Distributions(folder)


def _build(project: Path, folder: Path) -> None:
    # What a build requires is installed with the tests' own tools, but for a hook that requires more.
    isolation = ["--no-isolation"] if not (project / "hatch_build.py").exists() else []
    done = subprocess.run(
        [sys.executable, "-m", "build", *isolation, "--outdir", folder, project],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{project}\n{done.stdout}\n{done.stderr}"
