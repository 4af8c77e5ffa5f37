"""New projects: made from the framework's wheel, outside the repository, and put through what they promise."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from openenv_core.packaging.recipes import CoreSource, space_dockerfile
from openenv_core.packaging.scaffold import class_prefix
from openenv_core.packaging.templating import is_source, template_text
from tests.packaging.conftest import Run
from tests.packaging.environments import Environment, pip_beside
from tests.support.source import REPOSITORY

SOURCES: Mapping[str, list[str]] = {
    "number_guess_env": [],
    "cartpole": ["--from", "gym:CartPole-v1"],
    "calculator_env": ["--from", "function:functions:combine", "--from", "function:functions:shout"],
}


@pytest.fixture(scope="session")
def projects(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project of each kind, all installed in the environment as wheels would be."""
    folder = tmp_path_factory.mktemp("projects")
    # A module of the user's own, in the folder in which the command runs.
    (folder / "functions.py").write_text((REPOSITORY / "tests/packaging/functions.py").read_text())
    for name, words in SOURCES.items():
        environment.run("openenv", "init", name, *words, cwd=folder)
    environment.install(*(folder / name / part for name in SOURCES for part in (".", "server")))
    (environment.bin.parent / ".ready").touch()
    return folder


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", SOURCES)
def test_a_new_project_passes_its_own_tests(name: str, projects: Path, environment: Environment) -> None:
    told = environment.run(
        *("make", "test", f"VENV={environment.bin.parent}"),
        cwd=projects / name,
        MYPY_CACHE_DIR=str(projects / "mypy"),
    )
    assert "Success: no issues found" in told
    assert re.search(r"\d+ passed", told)


@pytest.mark.timeout(120)
def test_pip_of_a_new_interpreter_installs_a_project_in_one_go(openenv: Run, tmp_path: Path) -> None:
    # The resolver that comes with the interpreter may be older than the tests' own.
    assert openenv("init", "chess_env", "--output", tmp_path).code == 0
    pip = pip_beside(tmp_path / "venv")
    told = subprocess.run(
        [*pip, "--requirement", "requirements.txt", "--editable", ".[dev]", "--editable", "./server"],
        cwd=tmp_path / "chess_env",
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "openenv-core-" in told.stdout


@pytest.mark.timeout(120)
def test_a_new_project_does_what_an_environment_promises(projects: Path, environment: Environment) -> None:
    report = json.loads(environment.run("openenv", "check", "cartpole", "--json", cwd=projects))
    assert (report["ok"], report["failed"]) == (True, 0)
    assert report["passed"] > 20


@pytest.mark.timeout(120)
def test_a_new_project_is_valid(projects: Path, environment: Environment) -> None:
    told = environment.run("openenv", "validate", "calculator_env", "--no-image", "--json", cwd=projects)
    report = json.loads(told)
    assert report["ok"], report
    # What only its author can choose.
    assert {each["message"] for each in report["findings"] if each["severity"] == "warning"} == {
        "its metadata lack license"
    }
    assert "promise.plays" in {each["name"] for each in report["findings"]}


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_left_to_be_filled_in(name: str, projects: Path) -> None:
    for path in (projects / name).rglob("*"):
        assert "acme" not in path.name.lower()
        if path.suffix == ".whl" or not is_source(path):
            continue
        text = path.read_text().lower()
        assert not re.search(r"acme|todo|fixme|placeholder|lorem|{{|\bxxx\b", text), path


def test_a_new_project_has_what_it_takes(projects: Path) -> None:
    have = {path.relative_to(projects / "cartpole").as_posix() for path in (projects / "cartpole").rglob("*")}
    assert have >= {
        *("README.md", "Dockerfile", "Makefile", "openenv.yaml", "pyproject.toml", "requirements.txt"),
        *(".gitignore", ".dockerignore", ".github/workflows/ci.yml", "tests/test_cartpole.py"),
        *("cartpole/models.py", "cartpole/client.py", "cartpole/py.typed"),
        *("server/pyproject.toml", "server/cartpole_server/app.py", "server/cartpole_server/py.typed"),
    }
    assert not [name for name in have if name.endswith(".pyc") and not name.startswith("tests/")]


def test_the_dockerfile_is_that_of_our_own_environments() -> None:
    ours = space_dockerfile((REPOSITORY / "envs/echo_env/Dockerfile").read_text(), CoreSource("bundle"))
    ours = re.sub(r".*image\.(licenses|description)=.*\n", "", ours)
    made = space_dockerfile(template_text("project/Dockerfile"), CoreSource("bundle"))
    made = re.sub(r".*image\.(licenses|description)=.*\n", "", made)
    assert made == ours.replace("echo", "acme").replace("Echo", "Acme")


@pytest.mark.parametrize(
    ("name", "prefix"), [("chess_env", "Chess"), ("chess", "Chess"), ("my_game_env", "MyGame"), ("env", "Env")]
)
def test_what_classes_are_called(name: str, prefix: str) -> None:
    assert class_prefix(name) == prefix


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["Chess"], "small letters"),
        (["my-env"], "small letters"),
        (["random"], "try random_env"),
        (["class"], "try class_env"),
        (["openenv_core"], "something else"),
        (["echo_env"], "is installed here already (openenv-echo-env-server)"),
        (["pydantic"], "is installed here already"),
        (["x" * 31], "30 characters"),
        (["good_env", "--from", "gym:NoSuch-v0"], "NoSuch"),
        (["good_env", "--from", "somewhere"], "--from is gym:ID"),
        (["good_env", "--from", "function:tests.packaging.functions:nothing"], "cannot be loaded"),
        (["good_env", "--from", "function:tests.packaging.functions:Mode"], "not a function"),
        (["good_env", "--from", "function:tests.packaging.functions:bare"], "annotate anything"),
        (["good_env", "--from", "function:tests.packaging.functions:anything"], "by names"),
    ],
)
def test_what_cannot_be_made_is_told_and_leaves_nothing(
    openenv: Run, tmp_path: Path, words: list[str], told: str
) -> None:
    done = openenv("init", *words, "--output", tmp_path)
    assert done.code == 1
    assert told in done.err
    assert os.listdir(tmp_path) == []


def test_what_is_there_is_left_alone(openenv: Run, tmp_path: Path) -> None:
    (tmp_path / "chess_env").mkdir()
    (tmp_path / "chess_env" / "board.txt").write_text("mine")
    done = openenv("init", "chess_env", "--output", tmp_path)
    assert done.code == 1
    assert "not empty" in done.err
    assert [path.name for path in (tmp_path / "chess_env").iterdir()] == ["board.txt"]


@pytest.mark.parametrize("words", [["--version"], ["init", "chess_env"], ["push", "--help"], ["doctor", "--help"]])
def test_commands_start_without_the_modules_that_only_unix_has(words: list[str], tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "for name in ('fcntl', 'termios', 'pwd', 'grp', 'resource', 'readline', 'tty', 'pty'):\n"
        "    sys.modules[name] = None\n"
        f"sys.argv = {['openenv', *words]!r}\n"
        "from openenv_core.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
