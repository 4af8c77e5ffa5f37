"""``openenv check`` as its users run it: a command with an exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openenv_core.conformance.run import check_names
from openenv_core.conformance.serving import serving
from tests.conformance import worlds
from tests.conformance.test_url import application

pytestmark = pytest.mark.timeout(240)  # a command and its servers are slow to start where the machine is busy

REPOSITORY = Path(__file__).parents[2]
QUICK = ("--episodes", "2", "--steps", "12")


def openenv_check(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the repository's folder, where the worlds can be imported."""
    return subprocess.run(
        [sys.executable, "-m", "openenv_core.cli", "check", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "COLUMNS": "200", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_good_environment_exits_with_0_and_a_table() -> None:
    done = openenv_check("echo_env", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in check_names():
        assert name in done.stdout
    assert "echo_env: 27 passed, 0 failed, 1 skipped" in done.stdout
    assert "step_after_done" in done.stdout
    assert done.stderr == ""


def test_a_broken_environment_exits_with_1_and_says_what_to_do() -> None:
    only = ("--only", "plays", "--only", "process_random")
    done = openenv_check("tests.conformance.worlds:DrawsFromTheProcess", *QUICK, *only)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed, 1 failed, 0 skipped" in done.stdout
    assert "step 1 drew from, or seeded, the process-wide generator of random" in " ".join(done.stdout.split())
    assert "random.Random(seed)" in done.stdout


def report_of(done: subprocess.CompletedProcess[str]) -> Any:
    """What ``--json`` printed, which is all that it printed."""
    return json.loads(done.stdout)


def test_json_is_all_that_is_printed_and_tells_everything() -> None:
    done = openenv_check(
        "tests.conformance.worlds:OneBuffer", "--json", "--seed", "9", "--skip", "seed_matters", *QUICK
    )
    report = report_of(done)
    assert done.returncode == 1
    assert (report["target"], report["seed"], report["ok"]) == ("tests.conformance.worlds:OneBuffer", 9, False)
    assert report["failed"] == 1
    rows = {row["name"]: row for row in report["checks"]}
    assert list(rows) == [name for name in check_names() if name != "seed_matters"]
    assert rows["buffer_reuse"]["verdict"] == "fail"
    assert rows["seed_two_processes"]["verdict"] == "pass", "the class has a name by which another process finds it"


def test_a_url_is_checked_with_the_token_of_the_variable() -> None:
    with serving(application(worlds.Guess, token="open-sesame")) as url:
        let_in = openenv_check(url, "--json", "--only", "plays", *QUICK, OPENENV_TOKEN="open-sesame")
        kept_out = openenv_check(url, "--json", OPENENV_TOKEN="wrong")
    assert (let_in.returncode, kept_out.returncode) == (0, 2)
    assert report_of(let_in)["passed"] == 1
    assert "open-sesame" not in let_in.stdout + let_in.stderr + kept_out.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_env"], "no environment 'no_such_env' is installed"),
        (["no_such_module:Thing"], "cannot be loaded"),
        (["tests.conformance.test_command:REPOSITORY"], "not an environment"),
        (["http://127.0.0.1:9"], "Failed to connect"),
        (["tests.conformance.worlds:CannotBeMade"], "failed to create"),
        (["echo_env", "--only", "seed_mater"], "did you mean seed_matters"),
        (["echo_env", "--episodes", "0"], "episodes is 0"),
    ],
)
def test_what_cannot_be_checked_exits_with_2_and_one_line(arguments: list[str], words: str) -> None:
    done = openenv_check(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_module_that_breaks_when_it_is_imported_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "breaks_at_import.py").write_text("1 / 0\n")
    done = openenv_check(
        "breaks_at_import:Thing", PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr


def test_the_checks_can_be_listed() -> None:
    done = openenv_check("--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == check_names()


def test_verbose_shows_why_an_environment_cannot_be_made() -> None:
    quiet, loud = (openenv_check("tests.conformance.worlds:CannotBeMade", *flags) for flags in ((), ("--verbose",)))
    for shown in (quiet, loud):
        assert "RuntimeError: no world today" in " ".join(shown.stderr.split())
    assert "--verbose shows the log" in " ".join(quiet.stderr.split())
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr
