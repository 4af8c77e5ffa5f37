"""``openenv replay``, run as a command."""

import json
import subprocess
from pathlib import Path

import pytest

from openenv_core.client import GenericEnvClient
from openenv_core.recording.shelf import recordings_in
from openenv_core.targets import load_object
from tests.cli.terminal import COMMAND, at_terminal, surroundings
from tests.recording.worlds import Painter, serve_options
from tests.support.serving import serving
from tests.support.source import REPOSITORY


def replay(*words: object, code: int = 0) -> str:
    """Run the command; what it printed."""
    done = subprocess.run(
        [*COMMAND, "replay", *map(str, words)],
        env=surroundings({"NO_COLOR": "1", "COLUMNS": "150"}),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes: two of the same seed of which one is solved, and one of Catch."""
    kept = tmp_path_factory.mktemp("episodes")
    with serving(Painter, limits=serve_options(kept)) as served, GenericEnvClient(served.base_url) as client:
        for last in ("paint", "finish"):
            client.reset(seed=4, title="\x1b[2Jbegin")
            client.step({"shade": 1})
            client.step({"shade": 2, "do": last})
    spec = load_object("openspiel_env_server:spec")
    models = spec.action_type, spec.observation_type, spec.state_type
    limits = serve_options(kept)
    with (
        serving(spec.factory, *models, env_name="openspiel_env", limits=limits) as served,
        GenericEnvClient(served.base_url) as client,
    ):
        result = client.reset(seed=2, game_name="catch")
        while not result.done:
            result = client.step({"action_id": 1})
        client.state()
    return kept


def test_a_folder_is_listed_and_chosen_from(folder: Path) -> None:
    shown = replay(folder)
    assert "3 episodes" in shown
    assert "terminated" in shown
    rows = json.loads(replay(folder, "--json"))
    assert [(row["number"], row["environment"], row["steps"]) for row in rows][:2] == [(1, "toy", 2), (2, "toy", 2)]
    solved = json.loads(replay(folder, "--json", "--success", "--env", "toy"))
    assert [row["number"] for row in solved] == [2]
    assert [row["number"] for row in json.loads(replay(folder, "--json", "--max-reward", "0.5", "--env", "toy"))] == [1]
    assert "None of the 3" in replay(folder, "--min-reward", "100")


def test_an_episode_is_shown_as_it_was_played(folder: Path) -> None:
    shown = replay(folder, "--episode", "2")
    assert "Step 2" in shown
    assert "square 2" in shown
    assert "8 x 8 pixels" in shown
    assert "Solved. 2 steps, return 1.25. It ended: terminated." in shown
    assert "\x1b" not in shown
    assert "\\x1b[2Jbegin" in shown
    catch = replay(recordings_in(folder)[2])
    assert "catch" in catch
    assert "  . . . . ." in catch
    frames = json.loads(replay(folder, "-e", "2", "--json"))["frames"]
    assert [frame["type"] for frame in frames] == ["reset", "step", "step"]


def test_at_a_terminal_a_person_says_when(folder: Path) -> None:
    with at_terminal("replay", str(folder), "-e", "2") as terminal:
        terminal.expect("begin")
        terminal.expect("leave> ")
        terminal.type("")
        terminal.expect("square 1")
        terminal.expect("leave> ")
        terminal.type("b")
        terminal.expect("begin")
        terminal.expect("leave> ")
        terminal.type("q")
        assert terminal.end() == 0
    assert "Solved" not in terminal.plain


def test_two_episodes_are_compared(folder: Path) -> None:
    shown = replay(folder, "-e", "1", "--compare", "2")
    assert "Actions differ first in step 2; observations differ first in step 2." in shown
    compared = json.loads(replay(folder, "-e", "1", "--compare", "2", "--json"))
    assert [pair["same_action"] for pair in compared["pairs"]] == [True, True, False]
    assert "Both did and saw the same." in replay(folder, "-e", "1", "--compare", recordings_in(folder)[0])


def test_what_is_chosen_is_exported(folder: Path, tmp_path: Path) -> None:
    chats = tmp_path / "a" / "chats.jsonl"
    assert "1 conversation in" in replay(folder, "--success", "--env", "toy", "--export-sft", chats, "--prompt", "Go.")
    [row] = [json.loads(line) for line in chats.read_text().splitlines()]
    assert row["messages"][0]["content"] == "Go.\n\n\x1b[2Jbegin"
    told = replay(folder, "--export-parquet", tmp_path / "out")
    assert "of 3 episodes" in told
    assert (tmp_path / "out" / "data" / "train-00000-of-00001.parquet").is_file()


def test_a_file_that_ends_in_the_middle_is_shown_and_says_so(folder: Path, tmp_path: Path) -> None:
    torn = tmp_path / recordings_in(folder)[0].name
    torn.write_bytes(recordings_in(folder)[0].read_bytes()[:-200])
    shown = replay(torn)
    assert "The last line is incomplete" in shown
    assert "Its end is not recorded." in shown
    assert "damaged" in replay(tmp_path)


def test_what_is_no_recording_is_told_in_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("{}\n")
    for words, told in (
        ([tmp_path / "other.jsonl"], "is not a recorded episode"),
        ([tmp_path], "no episode is recorded"),
        ([tmp_path / "nowhere"], "neither a recorded episode nor a folder"),
        ([folder, "-e", "9"], "from 1 to 3"),
    ):
        error = replay(*words, code=1)
        assert told in error
        assert "Traceback" not in error


def test_a_folder_of_one_episode_has_no_other(folder: Path, tmp_path: Path) -> None:
    only = tmp_path / recordings_in(folder)[0].name
    only.write_bytes(recordings_in(folder)[0].read_bytes())
    assert "Step 2" in replay(tmp_path, "--episode", "1")
    for words in ([tmp_path, "-e", "0"], [tmp_path, "-e", "abc"], [only, "-e", "9"], [only, "--compare", "2"]):
        assert "from 1 to 1" in replay(*words, code=1)
