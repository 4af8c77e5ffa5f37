"""The checks under pytest, as authors run them: by a class in a test module, or by an option."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from openenv_core import conformance
from openenv_core.conformance.run import check_names
from openenv_core.errors import ConfigurationError
from tests.conformance import worlds

pytestmark = pytest.mark.timeout(240)  # each starts another pytest, with servers of its own

REPOSITORY = Path(__file__).parents[2]

SUITES = """
from openenv_core import conformance
from tests.conformance.worlds import DrawsFromTheProcess, Guess

QUICK = {"episodes": 2, "steps": 12}
TestGuess = conformance.suite(Guess, **QUICK)
TestBroken = conformance.suite(DrawsFromTheProcess, skip={"seed_matters": "only for this test"}, **QUICK)

def test_beside_them():
    pass
"""


def run_pytest(folder: Path, *arguments: str) -> tuple[int, dict[str, str], str]:
    """Run pytest in a folder, in a process of its own.

    Returns:
        The exit code, each test's outcome by its name, and what was printed.
    """
    is_installed = any(entry.name == "openenv" for entry in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "openenv_core.conformance.pytest_plugin"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *plugin,
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            "--junitxml=out.xml",
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    outcomes = {}
    for case in ElementTree.parse(folder / "out.xml").iter("testcase"):
        verdicts = [child.tag for child in case if child.tag in ("failure", "skipped", "error")]
        outcomes[f"{case.get('classname')}::{case.get('name')}"] = verdicts[0] if verdicts else "passed"
    return done.returncode, outcomes, done.stdout


def test_a_suite_is_one_test_for_each_check(tmp_path: Path) -> None:
    (tmp_path / "test_suites.py").write_text(SUITES)
    code, outcomes, output = run_pytest(tmp_path)
    assert code == 1
    assert len(outcomes) == 2 * len(check_names()) + 1
    unlike = {name: outcome for name, outcome in outcomes.items() if outcome != "passed"}
    assert unlike == {
        "test_suites.TestGuess::test_conforms[seed_two_processes]": "skipped",
        "test_suites.TestBroken::test_conforms[seed_two_processes]": "skipped",
        "test_suites.TestBroken::test_conforms[seed_matters]": "skipped",
        "test_suites.TestBroken::test_conforms[process_random]": "failure",
    }
    assert "process-wide generator of random. Own a generator" in output
    assert "Traceback" not in output
    assert "pytest.fail" not in output, "the reason is enough; nobody needs the inside of the kit"


def test_one_check_of_a_suite_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "test_suites.py").write_text(SUITES)
    code, outcomes, _ = run_pytest(tmp_path, "-k", "TestGuess and reward_finite")
    assert (code, outcomes) == (0, {"test_suites.TestGuess::test_conforms[reward_finite]": "passed"})


def test_the_option_adds_one_test_for_each_check(tmp_path: Path) -> None:
    target = "tests.conformance.worlds:BreaksOnIllegal"
    code, outcomes, output = run_pytest(
        tmp_path, *("--openenv-check", "echo_env", "--openenv-check", target), "--openenv-episodes=2", "-v"
    )
    assert code == 1, output
    assert len(outcomes) == 2 * len(check_names())
    assert [name.rpartition("::")[2] for name, outcome in outcomes.items() if outcome == "failure"] == ["errors_typed"]
    assert f"openenv-check[{target}]::errors_typed FAILED" in output
    assert "openenv-check[echo_env]::plays PASSED" in output


def test_the_option_stands_beside_other_tests_and_k_chooses_among_all(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    both = run_pytest(tmp_path, "--openenv-check", "echo_env", "-k", "health or test_own")
    assert both[0] == 0
    assert len(both[1]) == 2


def test_a_target_that_cannot_be_checked_fails_in_one_line_for_each_test(tmp_path: Path) -> None:
    code, outcomes, output = run_pytest(tmp_path, "--openenv-check", "no_such_env")
    assert code == 1
    assert set(outcomes.values()) == {"failure"}
    assert "no environment 'no_such_env' is installed" in output
    assert "Traceback" not in output


def test_without_the_option_nothing_is_collected_and_nothing_imported(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    assert 'openenv_core.conformance.pytest_plugin' in sys.modules\n"
        "    loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "    assert not loaded & {'fastapi', 'starlette', 'uvicorn', 'jsonschema', 'typer', 'rich', 'numpy'}\n"
        "    assert 'openenv_core.conformance.run' not in sys.modules\n"
    )
    code, outcomes, output = run_pytest(tmp_path)
    assert (code, list(outcomes.values())) == (0, ["passed"]), output


def test_the_plugin_loads_no_more_than_the_package_that_it_is_in() -> None:
    probe = (
        "import json, sys, pytest, openenv_core; before = set(sys.modules)\n"
        "import openenv_core.conformance.pytest_plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == ["openenv_core.conformance", "openenv_core.conformance.pytest_plugin"]


def test_a_check_that_is_misspelt_is_refused_when_the_suite_is_made() -> None:
    with pytest.raises(ConfigurationError, match="did you mean seed_matters"):
        conformance.suite(worlds.Guess, skip={"seed_mater": "no chance"})


# The kit on one of its own: what an author writes.
TestGuess = conformance.suite(worlds.Guess, episodes=2, steps=12)
