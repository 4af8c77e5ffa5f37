"""Virtual environments in which nothing is installed twice: what is not ours comes from the tests' own."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.support.source import REPOSITORY

__all__ = ["Environment", "pip_beside"]

_LIMIT_S = 240
_TOOLS = ("ruff",)
_MODULES = ("mypy", "pytest")
_LEFT_OUT = ("openenv", "_openenv", "pip", "setuptools", "__pycache__")


class Environment:
    """A virtual environment. Distributions of ours are installed into it without what they require, which it finds
    beside the tests' own tools; the checkout is not among that: editable installs are not followed.

    Attributes:
        python: its interpreter.
        bin: the folder of its commands.
    """

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.bin = folder / "bin"
        self.python = self.bin / "python"
        site = next((folder / "lib").glob("python*/site-packages"))
        (site / "beside.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
        for name in _TOOLS:
            (self.bin / name).symlink_to(Path(sys.executable).parent / name)
        for name in _MODULES:
            script = self.bin / name
            script.write_text(f'#!/bin/sh\nexec "{self.python}" -m {name} "$@"\n')
            script.chmod(0o755)

    def install(self, *what: str | Path) -> None:
        """Install wheels or folders without what they require."""
        self._install("--no-deps", "--no-index", "--force-reinstall", *what)

    def install_with_requirements(self, *what: str | Path, cwd: Path | None = None) -> None:
        """Install as a user would. What is not ours is here already, so the index is not asked; direct URLs are."""
        self._install("--no-index", *what, cwd=cwd)

    def _install(self, *words: str | Path, cwd: Path | None = None) -> None:
        pip = (sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet")
        self.run(*pip, "--disable-pip-version-check", "--no-build-isolation", *words, cwd=cwd)

    def run(self, *words: str | Path, cwd: Path | None = None, **variables: str) -> str:
        """Run a command, with this environment's commands first; returns what it printed. Fails where it fails."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env={**self.variables(), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def variables(self) -> dict[str, str]:
        """The environment variables of what runs in it: nothing leads to the checkout."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        assert str(REPOSITORY) not in kept.get("MYPYPATH", "")
        return {**kept, "PATH": f"{self.bin}{os.pathsep}{kept['PATH']}", "COLUMNS": "160"}


def pip_beside(folder: Path) -> list[str]:
    """The words for a trial of an installation by the pip that comes with the interpreter, in an environment that has
    what is beside the tests' own tools, but nothing of ours, not even an editable installation's facts."""
    venv.create(folder, with_pip=True, symlinks=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not path.name.startswith(_LEFT_OUT) and path.suffix != ".pth" and not (site / path.name).exists():
            (site / path.name).symlink_to(path)
    python = str(folder / "bin" / "python")
    return [python, "-m", "pip", "install", "--dry-run", "--no-index", "--no-build-isolation"]
