"""A server of the small game for each test."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import Served, serving
from tests.training.running import TrlMissingError, oldest_trl, run_trl, trl_python
from tests.training.worlds import Climb


@pytest.fixture
def served() -> Iterator[Served]:
    """A server of the small game with room for 20 sessions."""
    try:
        with serving(Climb, env_name="climb", limits={"max_sessions": 20}) as running:
            yield running
    finally:
        Climb.before_step = None


@pytest.fixture(scope="session")
def trl() -> Any:
    """Runs a script of this folder with the Python that has TRL; fails with a sentence where there is none."""
    try:
        python: Path = trl_python()
    except TrlMissingError as error:
        missing = str(error)
    else:

        def run(
            script: str, *arguments: str, limit_s: float = 280.0, oldest: bool = False
        ) -> "subprocess.CompletedProcess[str]":
            in_front = oldest_trl(python) if oldest else None
            return run_trl(python, script, *arguments, limit_s=limit_s, in_front=in_front)

        return run
    pytest.fail(missing, pytrace=False)
