"""TRL itself, on the CPU, with our tool environments and real servers."""

import json
from typing import Any

import pytest

from openenv_core.runtimes.process import ProcessRuntime
from tests.support.serving import Served
from tests.support.waiting import eventually

pytestmark = [pytest.mark.training, pytest.mark.timeout(300)]

WAYS = ["plain", "parallel"]


def told(done: Any) -> dict[str, Any]:
    """What a script found: the last line of its output."""
    facts: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return facts


@pytest.mark.parametrize("oldest", [False, True], ids=["newest", "oldest"])
def test_trl_keeps_the_contract(trl: Any, served: Served, oldest: bool) -> None:
    facts = told(trl("contract", served.base_url, oldest=oldest))
    assert facts["version"].startswith("1.8.") is oldest, f"this is TRL {facts['version']}"
    watched = facts["watched"]
    assert watched["tools"] == watched["expected"], "TRL finds other tools on a class than openenv_core.training says"
    assert watched["resets_first"], "TRL does not reset all environments of a batch before the first tool call"
    assert watched["columns"] == ["prompt", "seed"], "TRL no longer passes a row's columns to reset"
    assert watched["prompt"].startswith("Climb.\n\nThe top is"), "TRL puts the first observation elsewhere"
    assert watched["rewards"] == [1.0] * 16, "TRL passes other environments to reward functions than it stepped"
    assert watched["instances"] >= 16, "TRL shares environments between rollouts"
    assert watched["lengths_agree"], "TRL's masks and tokens differ in length"
    assert watched["only_own_words"], "TRL trains on what tools said"
    assert facts["own_reward"] == ["rewards/PaidClimbTools/mean", "rewards/recorded/mean"], "TRL ignores get_reward"
    assert facts["loop"][:5] == ["self", "prompts", "prompt_ids", "completion_ids", "completions"], (
        "TRL's loop over tool calls has other arguments; openenv_core.training.parallel must follow"
    )
    assert facts["takes_dictionary"], "TRL no longer takes a dictionary of environments"
    assert facts["is_dictionary"]
    eventually(lambda: served.active == 0)


@pytest.fixture(scope="module")
def faults(trl: Any) -> dict[str, Any]:
    """What became of all runs with faults, by scenario and way."""
    return told(trl("faults"))


def is_masked_once(facts: dict[str, Any], reason: str) -> None:
    """One rollout of the first step has no reward, and the log says why; all else is as it would have been."""
    assert sorted(map(str, facts["rewards"][0])) == ["1.0"] * 15 + ["None"]
    assert facts["rewards"][1:] == [[1.0] * 16] * 2
    assert facts["faults"] == {reason: 1}
    assert facts["reasons"] == [f"env/ClimbTools/faults/{reason}"]
    assert facts["fault_rates"] == [pytest.approx(1 / 16), 0.0, 0.0]
    assert facts["logged"] == [1.0, 1.0, 1.0]
    assert facts["finite"]
    assert facts["left"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_one_of_sixteen_sessions_is_lost(faults: dict[str, Any], way: str) -> None:
    facts = faults[f"lost {way}"]
    assert facts["happened"]
    is_masked_once(facts, "lost_env_crashed")


@pytest.mark.parametrize("way", WAYS)
def test_a_step_that_does_not_come_back_ends_at_its_deadline(faults: dict[str, Any], way: str) -> None:
    is_masked_once(faults[f"stuck {way}"], "lost_step_deadline")


@pytest.mark.parametrize("way", WAYS)
def test_an_environment_that_raises_is_closed_and_costs_its_rollout(faults: dict[str, Any], way: str) -> None:
    facts = faults[f"breaking {way}"]
    is_masked_once(facts, "environment")
    assert facts["unclosed"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_sessions_end_when_training_raises(faults: dict[str, Any], way: str) -> None:
    assert faults[f"raising {way}"] == {"raised": "a mistake in a reward function", "left": 0}


@pytest.mark.parametrize("way", WAYS)
def test_a_full_server(faults: dict[str, Any], way: str) -> None:
    facts = faults[f"full {way}"]
    for rewards in facts["rewards"]:
        assert sorted(map(str, rewards)) == ["1.0"] * 10 + ["None"] * 6
    assert facts["faults"] == {"capacity": 18}
    assert facts["logged"] == [1.0, 1.0, 1.0]
    assert facts["finite"]
    assert facts["left"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_restarted_in_the_middle(faults: dict[str, Any], way: str) -> None:
    facts = faults[f"restart {way}"]
    assert facts["rewards"][0] == facts["rewards"][2] == [1.0] * 16
    lost = sum(reward is None for reward in facts["rewards"][1])
    assert lost > 0
    assert {reward for reward in facts["rewards"][1] if reward is not None} <= {1.0}
    assert sum(facts["faults"].values()) == lost
    assert all(reason.startswith(("lost_", "connection")) for reason in facts["faults"])
    assert facts["finite"]


def test_a_model_that_sees_is_trained_on_pictures_of_a_browser(trl: Any) -> None:
    with ProcessRuntime("browsergym_env_server:spec") as runtime:
        facts = told(trl("vision", runtime.base_url))
    assert facts["turns"] == [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3]], "a turn of generation was shown other pictures"
    assert facts["pictures"] == [3, 2, 3, 2]
    assert facts["log"] == [0.5, pytest.approx(0.577, abs=1e-3), 1.5, 0.0]
    assert facts["learned"]
    same = ["turns", "fields", "prompts", "ids", "masks", "pictures", "log", "weights"]
    assert facts["same"] == dict.fromkeys(same, True)


def test_trls_asynchronous_worker_plays_many_at_a_time(trl: Any) -> None:
    facts = told(trl("concurrent"))
    assert sorted(map(str, facts["rewards"])) == ["1.0"] * 23 + ["None"]
    assert facts["advantages_of_faults"] == [0.0]
    assert facts["prompt"].startswith("Climb.\n\nThe top is")
    assert facts["columns"] == ["rewards/PaidClimbTools"]
    assert all(facts["own_words"])


@pytest.mark.timeout(400)
def test_a_tiny_model_learns_catch_and_parallel_stepping_changes_nothing(trl: Any) -> None:
    with ProcessRuntime("openspiel_env_server:spec", arguments=["--max-sessions", "80"]) as runtime:
        facts = told(trl("learn", runtime.base_url, limit_s=380.0))
    assert facts["parameters"] < 1_000_000
    assert facts["calls"] > 2, "the model has hardly called a tool: nothing was compared"
    assert facts["same"] == dict.fromkeys(["prompts", "ids", "masks", "talk", "rewards", "calls", "weights"], True)
    assert facts["lengths_agree"]
    rewards = facts["rewards"]
    assert sum(rewards[-10:]) / 10 >= sum(rewards[:5]) / 5 + 0.15, f"the reward did not rise: {rewards}"
