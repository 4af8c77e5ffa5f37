"""The demonstration, and plain against parallel with the same model and seed: ``learn.py BASE_URL``."""

import copy
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from openenv_core.training import environment_factory, prepare
from openenv_core.training.demo.catch import Outcome, Plan, make_trainer, warmed_up
from openspiel_env.tools import CatchTools
from tests.training.trl_scripts.engine import answer

PLAN = Plan(learning_rate=1e-3, steps=25)
"""Shorter than the demonstration. The two means that are compared differ by 0.03 by chance (standard error)."""


def batch_of(model: Any, tokenizer: Any, url: str, folder: Path, *, parallel: bool) -> dict[str, Any]:
    """One step from the same model and seed: what was sampled, masked, earned, and what became of the model."""
    seen: dict[str, Any] = {}
    with environment_factory(CatchTools, url, rows=PLAN.rows) as factory:
        trainer = make_trainer(copy.deepcopy(model), tokenizer, factory, replace(PLAN, steps=1), folder)
        prepare(trainer, parallel=parallel)
        generate = trainer._generate

        def watched(prompts: Any) -> Any:
            result = generate(prompts)
            seen.update(prompts=result[0], ids=result[1], masks=result[2], talk=result[3])
            return result

        trainer._generate = watched
        torch.manual_seed(5)
        trainer.train()
        log = trainer.state.log_history[0]
        seen["rewards"] = [log["reward"], log["reward_std"]]
        seen["calls"] = [log["tools/call_frequency"], log["tools/failure_frequency"]]
        seen["weights"] = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    return seen


def main(url: str) -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as name, environment_factory(CatchTools, url, rows=PLAN.rows) as factory:
        folder = Path(name)
        model, tokenizer = warmed_up(factory, PLAN, outcome)
        plain, parallel = (batch_of(model, tokenizer, url, folder, parallel=way) for way in (False, True))
        weights = zip(plain.pop("weights"), parallel.pop("weights"), strict=True)
        same = {part: plain[part] == parallel[part] for part in plain}
        same["weights"] = all(bool(torch.equal(one, other)) for one, other in weights)
        trainer = make_trainer(model, tokenizer, factory, PLAN, folder)
        prepare(trainer)
        trainer.train()
        outcome.rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    answer(
        same=same,
        calls=plain["calls"][0],
        lengths_agree=all(len(i) == len(m) for i, m in zip(plain["ids"], plain["masks"], strict=True)),
        rewards=outcome.rewards,
        parameters=outcome.parameters,
    )


if __name__ == "__main__":
    main(sys.argv[1])
