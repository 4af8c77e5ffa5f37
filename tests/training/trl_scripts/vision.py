"""Train a model that sees on a browser, plain and in parallel, from the same weights: ``vision.py BASE_URL``."""

import copy
import re
import sys
import warnings
from typing import Any

import torch
from trl import GRPOConfig, GRPOTrainer

from browsergym_env.tools import BROWSER_PROMPT, BrowserTools, browser_reward
from openenv_core.training import environment_factory, make_dataset, prepare
from tests.training.trl_scripts.engine import answer, schemas_of
from tests.training.trl_scripts.seeing import make_seeing_model

CALL = '<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call><|im_end|>'
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": f"{BROWSER_PROMPT}\n\nGoal: Click the button.\n\nPage:\n[13] button 'Click Me!'"},
    {"role": "assistant", "content": "Done."},
]


def scripted(trainer: Any, seen: dict[str, Any]) -> Any:
    """An engine that waits once, then clicks the button; every other rollout ends there instead."""
    tokenizer = trainer.processing_class.tokenizer

    def generate(prompt_ids: Any, images: Any, fields: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        seen["turns"].append([len(pictures or ()) for pictures in images])
        seen["fields"].append({name: list(value.shape) for name, value in fields.items() if hasattr(value, "shape")})
        said = []
        for place, ids in enumerate(prompt_ids):
            text = tokenizer.decode(ids)
            button = re.search(r"\[(\d+)\] button", text)
            if "The task is done." in text or ("tool_response>" in text and place % 2):
                said.append("Done.<|im_end|>")
            elif "tool_response>" not in text.partition("Goal:")[2]:
                said.append(CALL.format(name="scroll", arguments='{"direction": "down"}'))
            else:
                assert button is not None
                said.append(CALL.format(name="click", arguments=f'{{"bid": "{button[1]}"}}'))
        return [tokenizer.encode(text, add_special_tokens=False) for text in said], None

    return generate


def step(url: str, model: Any, processor: Any, *, parallel: bool) -> dict[str, Any]:
    """One step: what was shown, masked, earned, and what became of the model."""
    seen: dict[str, Any] = {"turns": [], "fields": []}
    factory = environment_factory(BrowserTools, url, task_name="click-test", picture_size=64)
    trainer = GRPOTrainer(
        model=copy.deepcopy(model),
        processing_class=processor,
        reward_funcs=browser_reward,
        train_dataset=make_dataset(2, 0, prompt=BROWSER_PROMPT),
        environment_factory=factory,
        args=GRPOConfig(
            output_dir="/tmp/openenv-vision-test",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=4,
            num_generations=2,
            steps_per_generation=1,
            max_steps=1,
            max_completion_length=1500,
            learning_rate=1e-3,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
    )
    trainer._generate_single_turn = scripted(trainer, seen)
    prepare(trainer, parallel=parallel)
    generate = trainer._generate

    def watched(prompts: Any) -> Any:
        result = generate(prompts)
        seen.update(prompts=result[0], ids=result[1], masks=result[2], pictures=[len(p) for p in result[6]])
        return result

    trainer._generate = watched
    torch.manual_seed(5)
    trainer.train()
    log = trainer.state.log_history[0]
    seen["log"] = [log["reward"], log["reward_std"], log["tools/call_frequency"], log["tools/failure_frequency"]]
    seen["weights"] = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    return seen


def main(url: str) -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    schemas = schemas_of(environment_factory(BrowserTools, url)())
    model, processor = make_seeing_model(TALK, schemas)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    plain, parallel = (step(url, model, processor, parallel=way) for way in (False, True))
    weights = plain.pop("weights"), parallel.pop("weights")
    answer(
        same={part: plain[part] == parallel[part] for part in plain}
        | {"weights": all(bool(torch.equal(one, other)) for one, other in zip(*weights, strict=True))},
        learned=any(not bool(torch.equal(one, other)) for one, other in zip(before, weights[0], strict=True)),
        turns=parallel["turns"],
        pictures=parallel["pictures"],
        log=parallel["log"],
    )


if __name__ == "__main__":
    main(sys.argv[1])
