"""How long a batch of rollouts takes, plain as TRL steps them and in parallel; run it with a Python that has TRL.

    python -m benchmarks.training --rollouts 64 --latency-ms 0 20 100

The engine is a script (sampling takes no time), the server is a real one, the latency is added to each reset and step
on the client's side, as a network would. Prints seconds for the rollouts of one batch, the best of ``--repeats``.
"""

import argparse
import contextlib
import os
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import environment_factory, make_dataset, prepare, tool_names
from openenv_core.training.demo.tiny import make_model, make_tokenizer
from openspiel_env.tools import CatchTools, catch_reward

__all__ = ["main"]

CALL = '<tool_call>\n{"name": "stay", "arguments": {}}\n</tool_call><|im_end|>'


class FarTools(CatchTools):
    """Catch, from a distance. ``seconds`` counts the time that calls took, added up over all rollouts."""

    latency_s = 0.0
    seconds = 0.0

    def _start(self, columns: dict[str, Any]) -> Any:
        started = time.perf_counter()
        time.sleep(self.latency_s)
        first = super()._start(columns)
        FarTools.seconds += time.perf_counter() - started
        return first

    def _step(self, action: Any) -> Any:
        started = time.perf_counter()
        time.sleep(self.latency_s)
        result = super()._step(action)
        FarTools.seconds += time.perf_counter() - started
        return result


def _trainer(factory: Any, rollouts: int) -> Any:
    said = {"type": "function", "function": {"name": "stay", "arguments": {}}}
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "Catch."},
        {"role": "assistant", "content": "", "tool_calls": [said]},
        {"role": "tool", "name": "stay", "content": "Row 2 of 10: the ball is in column 1, the paddle in column 3."},
        {"role": "assistant", "content": "Done."},
    ]
    environment = factory()
    schemas = [get_json_schema(getattr(environment, name)) for name in tool_names(type(environment))]
    tokenizer = make_tokenizer([talk] * 4, schemas)
    settings = GRPOConfig(
        output_dir="/tmp/openenv-bench-training",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        per_device_train_batch_size=rollouts,
        num_generations=8,
        max_completion_length=1500,
        max_steps=1,
        report_to="none",
        save_strategy="no",
    )
    trainer = GRPOTrainer(
        model=make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=catch_reward,
        train_dataset=make_dataset(rollouts, 0, prompt="Catch."),
        environment_factory=factory,
        args=settings,
    )
    call = tokenizer.encode(CALL, add_special_tokens=False)
    end = tokenizer.encode("Done.<|im_end|>", add_special_tokens=False)

    def engine(prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        ends = [tokenizer.decode(ids[-60:]) for ids in prompt_ids]
        return [end if "ed the ball" in text else call for text in ends], None

    trainer._generate_single_turn = engine
    # The rollouts alone are timed: neither the model's forward pass nor its update.
    trainer._calculate_rewards = _stop
    return trainer


class _RolloutsDone(Exception):
    """Ends a run where the rewards would be asked for."""


def _stop(*_: Any, **__: Any) -> Any:
    raise _RolloutsDone


def measure(url: str, rollouts: int, latency_s: float, *, parallel: bool) -> tuple[float, float]:
    """Seconds for the rollouts of one batch, and the share of them that was spent in the environment if plain."""
    FarTools.latency_s, FarTools.seconds = latency_s, 0.0
    with environment_factory(FarTools, url) as factory:
        trainer = _trainer(factory, rollouts)
        prepare(trainer, parallel=parallel)
        spent = [0.0]
        original = trainer._generate_and_score_completions

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                spent[0] = time.perf_counter() - started

        trainer._generate_and_score_completions = timed
        with contextlib.suppress(_RolloutsDone):
            trainer.train()
    return spent[0], FarTools.seconds / spent[0]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rollouts", type=int, default=64, help="rollouts in a batch")
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0.0, 20.0, 100.0], help="of each call")
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement; the best counts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    server = ProcessRuntime("openspiel_env_server:spec", arguments=["--max-sessions", str(options.rollouts + 2)])
    with server as runtime:
        print(f"{options.rollouts} rollouts of catch, 9 steps each, seconds")
        for latency in options.latency_ms:
            best = {
                way: min(
                    measure(runtime.base_url, options.rollouts, latency / 1000, parallel=way)
                    for _ in range(options.repeats)
                )
                for way in (False, True)
            }
            (plain, share), (parallel, _) = best[False], best[True]
            print(
                f"latency {latency:g} ms: plain {plain:.2f} ({share:.0%} of it in the environment), "
                f"parallel {parallel:.2f}, ratio {plain / parallel:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
