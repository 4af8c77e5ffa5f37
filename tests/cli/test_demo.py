"""The demonstration plays a real episode in each environment, and shows it."""

import json
import subprocess

from tests.cli.terminal import COMMAND, surroundings


def demo(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run it, to its end."""
    return subprocess.run(
        [*COMMAND, "demo", *words], env=surroundings(), capture_output=True, text=True, timeout=55, check=False
    )


def test_games_are_solved_and_their_boards_shown() -> None:
    done = demo("openspiel_env", "textarena_env")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    table = {cells[1]: cells[2:6] for line in lines if len(cells := [c.strip() for c in line.split("│")]) == 7}
    assert table["openspiel_env"][:2] == ["9", "1"]
    assert [row[3] for row in table.values()] == ["yes", "yes"]
    assert any("/" in line for line in lines if line.startswith("  step 3")), "the ball and the paddle have moved"
    words = [line for line in lines if line.strip().count(":G") == 5]
    assert len(words) == 2, "the word that was found, in its step and on the board"


def test_json_is_all_that_is_printed() -> None:
    done = demo("echo_env", "--json")
    assert done.returncode == 0
    (row,) = json.loads(done.stdout)
    assert row["name"] == "echo_env"
    assert row["steps"] > 0
    assert row["reward"] > 0


def test_an_environment_that_is_not_there_is_named() -> None:
    done = demo("chess_env")
    assert done.returncode != 0
    assert "chess_env" in done.stderr
    assert "Traceback" not in done.stderr
