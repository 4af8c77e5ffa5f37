"""A trainer for the small game whose engine is a script: everything but the sampling is TRL's own."""

import json
import sys
import warnings
from typing import Any

from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from openenv_core.training import make_dataset, tool_names
from openenv_core.training.demo.tiny import make_model, make_tokenizer
from tests.training.worlds import climb_reward

__all__ = ["CALL", "END", "TALK", "answer", "make_trainer", "schemas_of"]

CALL = '<tool_call>\n{"name": "climb", "arguments": {"by": 1}}\n</tool_call><|im_end|>'
END = "Done.<|im_end|>"
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Climb.\n\nThe top is 3 steps up."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": "climb", "arguments": {"by": 1}}}],
    },
    {"role": "tool", "name": "climb", "content": "2 steps to go."},
    {"role": "assistant", "content": "Done."},
]


def schemas_of(environment: Any) -> list[Any]:
    """The schemas of its tools."""
    return [get_json_schema(getattr(environment, name)) for name in tool_names(type(environment))]


def make_trainer(factory: Any, rewards: list[list[float | None]], *, steps: int, reward: Any = climb_reward) -> Any:
    """A trainer with 4 groups of 4 rollouts a step. ``rewards`` is filled with what the reward function says."""
    warnings.simplefilter("ignore")
    tokenizer = make_tokenizer([TALK] * 4, schemas_of(factory()))

    def recorded(**arguments: Any) -> list[float | None]:
        found: list[float | None] = reward(**arguments)
        rewards.append(found)
        return found

    trainer = GRPOTrainer(
        model=make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=recorded,
        train_dataset=make_dataset(4 * steps, 0, prompt="Climb."),
        environment_factory=factory,
        args=GRPOConfig(
            output_dir="/tmp/openenv-training-test",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=16,
            num_generations=4,
            steps_per_generation=1,
            max_steps=steps,
            max_completion_length=400,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
    )
    trainer._generate_single_turn = scripted(trainer)
    return trainer


def scripted(trainer: Any) -> Any:
    """An engine that climbs a step until it is told that it is over."""
    tokenizer = trainer.processing_class
    turns: list[int] = []

    def generate(prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        turns.append(len(prompt_ids))
        texts = [tokenizer.decode(ids) for ids in prompt_ids]
        over = ("There.", "Call no more tools", "end your answer")
        said = [END if any(word in text for word in over) else CALL for text in texts]
        return [tokenizer.encode(text, add_special_tokens=False) for text in said], None

    generate.turns = turns  # type: ignore[attr-defined]
    return generate


def answer(**facts: Any) -> None:
    """Tell the test what was found: the last line of the output."""
    sys.stdout.write(f"\n{json.dumps(facts)}\n")
