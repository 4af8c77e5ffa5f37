"""The Wordle example from its solver's games to the last table, and its model evaluated by the command."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.source import REPOSITORY
from tests.training.running import source_paths, trl_python

pytestmark = [pytest.mark.training, pytest.mark.timeout(300), pytest.mark.usefixtures("trl")]

WORDS = 4
"""The model learns these games by heart: enough to see that what the warm-up teaches arrives in the evaluation."""

OPTIONS = ["--cpu", "--model", "tiny", "--games", str(WORDS), "--games-seed", "0", "--eval-words", str(WORDS)]
OPTIONS += ["--sft-epochs", "250", "--sft-learning-rate", "5e-3", "--answer-tokens", "40", "--max-steps", "1"]
OPTIONS += ["--batch", "8", "--num-generations", "4", "--dataset-size", "2", "--max-completion-length", "400"]


def run(*words: str, folder: Path) -> str:
    """The output of a Python command in the environment with TRL."""
    done = subprocess.run(
        [str(trl_python()), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source_paths(), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_from_a_solvers_games_to_a_table(tmp_path: Path) -> None:
    told = run(str(REPOSITORY / "examples" / "grpo_wordle.py"), *OPTIONS, folder=tmp_path)
    results = tmp_path / "outputs"
    games = [json.loads(line) for line in (results / "games.jsonl").read_text().splitlines()]
    assert len(games) == WORDS
    assert games[0]["tools"][0]["function"]["name"] == "guess"
    assert games[0]["messages"][1]["tool_calls"][0]["function"]["name"] == "guess"
    assert games[0]["messages"][-2]["content"].endswith("You found the word.")
    found: dict[str, Any] = json.loads((results / "evaluation.json").read_text())
    assert list(found) == ["before", "after warm-up", "after GRPO"]
    assert found["before"]["summary"]["solved"] == 0
    assert found["after warm-up"]["summary"]["solved"] >= WORDS - 1
    assert all(one["summary"]["faults"] == 0 for one in found.values())
    table = told[told.rindex("wins") :].splitlines()
    assert table[0].split()[:4] == ["wins", "0", "of", str(WORDS)]
    assert [line.split("  ")[0] for line in table[1:3]] == ["guesses per win", "invalid guesses"]
    again = json.loads(
        run(
            *("-m", "openenv_core.cli", "eval", "textarena_env", "--tools", "WordleTools", "--json"),
            *("--model", str(results / "model"), "--episodes", str(WORDS), "--max-tokens", "40", "--max-turns", "8"),
            folder=tmp_path,
        )
    )
    assert again["summary"]["solved"] == found["after GRPO"]["summary"]["solved"]
    assert again["tools"] == "WordleTools"
