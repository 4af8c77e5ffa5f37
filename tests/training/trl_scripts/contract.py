"""What the installed TRL does with environments, looked at; ``contract.py BASE_URL``."""

import inspect
import sys
from typing import Any

import trl

from openenv_core.training import MultiEnvironment, environment_factory, prepare, tool_names
from tests.training.trl_scripts.engine import answer, make_trainer
from tests.training.worlds import ClimbTools, PaidClimbTools

ORDER: list[str] = []
COLUMNS: list[list[str]] = []


class WatchedTools(ClimbTools):
    """Notes what is called."""

    def reset(self, **columns: Any) -> Any:
        """Start."""
        ORDER.append("reset")
        COLUMNS.append(sorted(columns))
        return super().reset(**columns)

    def climb(self, by: int) -> str:
        """Climb some steps.

        Args:
            by: How many steps, 1 or 2.
        """
        ORDER.append("tool")
        return ClimbTools.climb(self, by=by)


def watch(url: str) -> dict[str, Any]:
    """One step, plain, and what came of it."""
    factory = environment_factory(WatchedTools, url)
    rewards: list[list[float | None]] = []
    trainer = make_trainer(factory, rewards, steps=1)
    found = sorted(tool.__name__ for tool in trainer.tools)
    generate = trainer._generate
    masks: list[Any] = []
    prompts: list[str] = []

    def watched(prompts_given: Any) -> Any:
        prompts.extend(prompt[-1]["content"] for prompt in prompts_given)
        result = generate(prompts_given)
        masks.append((result[1], result[2]))
        return result

    trainer._generate = watched
    prepare(trainer, parallel=False)
    trainer.train()
    ids, mask = masks[0]
    said = [[token for token, own in zip(*pair, strict=True) if own] for pair in zip(ids, mask, strict=True)]
    text = trainer.processing_class.decode(said[0])
    return {
        "tools": found,
        "expected": tool_names(WatchedTools),
        "resets_first": ORDER[:16] == ["reset"] * 16 and "reset" not in ORDER[16:],
        "columns": COLUMNS[0],
        "prompt": prompts[0],
        "rewards": rewards[0],
        "instances": len(factory._made),
        "lengths_agree": all(len(one) == len(other) for one, other in zip(ids, mask, strict=True)),
        "only_own_words": "steps to go" not in text and "climb" in text,
    }


def own_reward(url: str) -> list[str]:
    """The reward columns of an environment that owns its reward."""
    factory = environment_factory(PaidClimbTools, url)
    rewards: list[list[float | None]] = []
    trainer = make_trainer(factory, rewards, steps=1)
    prepare(trainer, parallel=True)
    trainer.train()
    logged = trainer.state.log_history[0]
    return sorted(key for key in logged if key.startswith("rewards/") and key.endswith("/mean"))


if __name__ == "__main__":
    base_url = sys.argv[1]
    loop = inspect.signature(trl.GRPOTrainer._tool_call_loop)
    answer(
        version=trl.__version__,
        watched=watch(base_url),
        own_reward=own_reward(base_url),
        loop=list(loop.parameters),
        takes_dictionary="dict" in str(inspect.signature(trl.GRPOTrainer.__init__).parameters["environment_factory"]),
        is_dictionary=isinstance(MultiEnvironment(one=environment_factory(ClimbTools, base_url)), dict),
    )
