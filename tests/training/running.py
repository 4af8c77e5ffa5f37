"""Running scripts with the Python that has TRL: it is an environment of its own, torch is large."""

import os
import subprocess
from pathlib import Path

from tests.support.source import REPOSITORY

__all__ = ["TrlMissingError", "oldest_trl", "run_trl", "source_paths", "trl_python"]


class TrlMissingError(Exception):
    """There is no Python with TRL."""


def trl_python() -> Path:
    """The Python of ``OPENENV_TRL_PYTHON``, or of ``.venv-trl``.

    Raises:
        TrlMissingError: neither is there.
    """
    python = Path(os.environ.get("OPENENV_TRL_PYTHON") or REPOSITORY / ".venv-trl" / "bin" / "python")
    if not python.exists():
        raise TrlMissingError(
            f"the training tests need TRL, and {python} does not exist: `make test` makes it, or set "
            "OPENENV_TRL_PYTHON to a Python that has torch (CPU build), trl and these packages"
        )
    return python


def source_paths() -> str:
    """``PYTHONPATH`` for a process that is to see the packages of this repository, installed or not."""
    return os.pathsep.join(map(str, [REPOSITORY, *REPOSITORY.glob("clients/*"), *REPOSITORY.glob("envs/*")]))


def oldest_trl(python: Path) -> Path:
    """The folder with the oldest TRL that is supported, to be put in front of the newest one's.

    Raises:
        TrlMissingError: it is not there.
    """
    folder = python.parent.parent / "oldest"
    if not (folder / "trl").is_dir():
        raise TrlMissingError(f"the oldest TRL that is supported is not in {folder}: `make test` puts it there")
    return folder


def run_trl(
    python: Path, script: str, *arguments: str, limit_s: float, in_front: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``tests/training/trl_scripts/<script>.py``; the caller looks at what it printed.

    Args:
        python: runs it.
        script: its name.
        *arguments: its arguments.
        limit_s: it is ended after so many seconds.
        in_front: a folder whose packages come before those that are installed.

    Raises:
        AssertionError: it failed; the message holds the end of its output.
    """
    paths = source_paths() if in_front is None else os.pathsep.join([str(in_front), source_paths()])
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "TRL_EXPERIMENTAL_SILENCE": "1",
    }
    done = subprocess.run(
        [str(python), "-m", f"tests.training.trl_scripts.{script}", *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, f"{script} failed:\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done
