"""A command starts in any locale, and ends quietly when it is interrupted while it still loads."""

import subprocess
import sys

import pytest

from tests.cli.terminal import surroundings

LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "80"}

PRINT = """
import sys
from openenv_core.cli.main import main
sys.argv = ["openenv", "--version"]
try:
    main()
except SystemExit:
    print("caf\\u00e9 \\u2192 \\u2026")
"""

INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
wanted = sys.argv.pop(1)
sys.argv[0] = "/usr/bin/openenv"
from openenv_core.cli.main import main
main()
"""


def run(*words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run an interpreter."""
    return subprocess.run(
        [sys.executable, *words],
        env=surroundings(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_what_the_locale_cannot_write_becomes_a_question_mark() -> None:
    done = run("-c", PRINT, **LOCALE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "caf? ? ?"


@pytest.mark.parametrize("words", [["list"], ["doctor"]])
def test_commands_run_in_a_locale_of_ascii(words: list[str]) -> None:
    done = run("-m", "openenv_core.cli", *words, **LOCALE)
    assert "Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert "echo_env" in done.stdout


@pytest.mark.parametrize("module", ["pydantic", "typer", "rich"])
def test_an_interruption_while_it_loads_ends_it_quietly(module: str) -> None:
    done = run("-c", INTERRUPTED, module, "list")
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
