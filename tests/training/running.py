"""Running scripts with the Python that has TRL: it is an environment of its own, torch is large."""

import os
import subprocess
from pathlib import Path

from tests.support.source import REPOSITORY

__all__ = ["TrlMissingError", "run_trl", "source_paths", "trl_python"]


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


def run_trl(python: Path, script: str, *arguments: str, limit_s: float) -> "subprocess.CompletedProcess[str]":
    """Run ``tests/training/trl_scripts/<script>.py``; the caller looks at what it printed.

    Raises:
        AssertionError: it failed; the message holds the end of its output.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": source_paths(),
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
