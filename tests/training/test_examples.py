"""The examples run: their help, a step of each kind, and the loops for other trainers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openenv_core.training import tool_schemas
from openspiel_env.tools import CatchTools
from tests.support.source import REPOSITORY
from tests.training.running import source_paths, trl_python

EXAMPLES = REPOSITORY / "examples"
TINY = ["--cpu", "--model", "tiny", "--max-steps", "1", "--batch", "4", "--num-generations", "2"]
TINY += ["--dataset-size", "4", "--max-completion-length", "32"]


def run(python: Path | str, name: str, *arguments: str, folder: Path) -> str:
    """The output of an example."""
    done = subprocess.run(
        [str(python), str(EXAMPLES / name), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source_paths(), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, f"{name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("grpo_*.py")))
def test_help_is_there_without_a_trainer(name: str, tmp_path: Path) -> None:
    told = run(sys.executable, name, "--help", folder=tmp_path)
    for option in ("--env-url", "--cpu", "--use-vllm", "--vllm-mode", "--vllm-server-url", "--report-to", "--lora"):
        assert option in told


def test_an_agent_behind_an_api(tmp_path: Path) -> None:
    assert "3 of 3 episodes count; mean reward 1.00" in run(
        sys.executable, "loop_agent.py", "--episodes", "3", folder=tmp_path
    )


def test_a_loop_for_gymnasium(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    assert "mean reward 1.00" in run(sys.executable, "loop_gymnasium.py", "--episodes", "3", folder=tmp_path)


def test_schemas_for_an_agent() -> None:
    move, stay = (tool["function"] for tool in tool_schemas(CatchTools))
    assert move["parameters"]["properties"]["direction"]["enum"] == ["left", "right"]
    assert move["parameters"]["required"] == ["direction"]
    assert stay["parameters"]["properties"] == {}
    assert stay["description"].startswith("Keep the paddle")


def test_the_demonstration_says_what_it_needs() -> None:
    code = (
        "import sys\n"
        "sys.argv, sys.modules['openspiel_env'] = ['demo'], None\n"
        "from openenv_core.training.demo.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "./clients/openspiel_env" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.training
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("trl")
@pytest.mark.parametrize("name", ["grpo_catch.py", "grpo_multi_env.py", "grpo_browsergym.py"])
def test_a_step_of_training(name: str, tmp_path: Path) -> None:
    assert "train_runtime" in run(trl_python(), name, *TINY, folder=tmp_path)


@pytest.mark.training
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("trl")
def test_a_loop_in_pytorch(tmp_path: Path) -> None:
    assert "mean reward of the first" in run(trl_python(), "loop_pytorch.py", "--updates", "5", folder=tmp_path)
