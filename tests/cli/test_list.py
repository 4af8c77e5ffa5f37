"""What is installed, and what a server would refuse before it starts."""

import json
import subprocess
from pathlib import Path

import pytest

from openenv_core.targets import load_object
from openspiel_env_server import spec as openspiel
from tests.cli.terminal import COMMAND, surroundings
from tests.support.source import REPOSITORY
from textarena_env_server import spec as textarena


def run(*words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return subprocess.run(
        [*COMMAND, *words],
        env=surroundings({"COLUMNS": "200", **variables}),
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    """``PYTHONPATH`` with a distribution on it that names two environments, one of which does not load."""
    folder = tmp_path / "kitchen-1.5.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: kitchen\nVersion: 1.5\n")
    (folder / "entry_points.txt").write_text(
        "[openenv.environments]\nkitchen = tests.cli.worlds:spec\nno_kitchen = no_such_module:spec\n"
    )
    return f"{tmp_path}:{surroundings()['PYTHONPATH']}"


def test_one_row_for_each_environment(path: str) -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json", PYTHONPATH=path).stdout)}
    assert (rows["kitchen"]["version"], rows["kitchen"]["variants"], rows["kitchen"]["error"]) == ("1.5", "coal", "")
    assert "no_such_module" in rows["no_kitchen"]["error"]
    table = run("list", PYTHONPATH=path).stdout
    assert "A kitchen." in table
    assert "no_such_module" in table
    assert "oven" not in table


def test_all_about_one_environment(path: str) -> None:
    details = json.loads(run("list", "kitchen", "--json", PYTHONPATH=path).stdout)
    assert details["variants"] == {"coal": {"KITCHEN_HEAT": "coal"}}
    assert details["variables"] == {"KITCHEN_HEAT": "what heats it"}
    assert details["reset_options"] == ["episode_id", "guests", "seed"]
    assert details["action"] == {
        "metadata": "object",
        "dish": "soup | bread",
        "count": "integer",
        "now": "boolean",
        "note": 'string = "no note"',
    }
    assert details["observation"]["secret_of_the_chef"] == "string or null = null"
    assert details["games"] == [
        {"game": "Soup-v0", "runs": True, "note": ""},
        {"game": "Cake-v0", "runs": False, "note": "the oven is broken"},
    ]
    shown = run("list", "kitchen", PYTHONPATH=path).stdout
    refused = shown.partition("games that do not run here, and why")[2]
    assert refused.split() == ["Cake-v0", "the", "oven", "is", "broken"]


def test_an_environment_that_is_not_there(path: str) -> None:
    done = run("list", "kitchn", PYTHONPATH=path)
    assert done.returncode == 1
    assert "did you mean kitchen" in done.stderr


def test_textarena_and_openspiel_tell_their_games() -> None:
    assert textarena.games is not None
    assert openspiel.games is not None
    games = {game.env_id: game for game in load_object(textarena.games)()}
    assert games["Wordle-v0"].runs
    assert not games["GuessWho-v0"].runs
    assert "\n" not in games["GuessWho-v0"].note
    assert games["GuessWho-v0"].note
    offered = {game.env_id: game for game in load_object(openspiel.games)()}
    assert offered["catch"].note == "parameters: columns, rows"
    assert offered["tic_tac_toe"].runs


@pytest.mark.parametrize(
    ("target", "variable", "value", "told"),
    [
        ("textarena_env_server:spec", "TEXTARENA_ENV_ID", "Wordl-v0", "did you mean Wordle-v0"),
        ("textarena_env_server:spec", "TEXTARENA_KW_WORD_LENGTH", "40", "no word of 40 letters"),
        ("textarena_env_server.app:app", "TEXTARENA_ENV_ID", "Wordl-v0", "did you mean Wordle-v0"),
        ("openspiel_env_server:spec", "OPENSPIEL_GAME", "catchh", "did you mean catch?"),
        ("openspiel_env_server.app:app", "OPENSPIEL_AGENT_PLAYER", "1", "seats 0 to 0"),
        ("tests.cli.worlds:spec", "KITCHEN_HEAT", "none", "must be gas or coal"),
    ],
)
def test_a_variable_that_cannot_work_ends_the_start_with_one_sentence(
    target: str, variable: str, value: str, told: str
) -> None:
    done = run("serve", target, "--port", "0", **{variable: value})
    assert done.returncode == 1
    [line] = done.stderr.strip().split("\n")
    assert line.startswith("error: ")
    assert told in line
    assert value in line
