"""How long a batch of rollouts takes, plain as TRL steps them and in parallel; run it with a Python that has TRL.

    python -m benchmarks.training --environment both --latency-ms 0 20 100

A batch is 64 rollouts of Catch, or 16 of a browser. The engine is a script (sampling takes no time), the server is a
real one, the latency is added to each reset and step on the client's side, as a network would. Prints seconds for the
rollouts of one batch, the best of ``--repeats``.
"""

import argparse
import contextlib
import os
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from browsergym_env.tools import BrowserTextTools, browser_reward
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import environment_factory, make_dataset, prepare, tool_names
from openenv_core.training.demo.tiny import make_model, make_tokenizer
from openspiel_env.tools import CatchTools, catch_reward

__all__ = ["main"]

STAY = '<tool_call>\n{"name": "stay", "arguments": {}}\n</tool_call><|im_end|>'
SCROLL = '<tool_call>\n{"name": "scroll", "arguments": {"direction": "down"}}\n</tool_call><|im_end|>'
CLICK = '<tool_call>\n{{"name": "click", "arguments": {{"bid": "{bid}"}}}}\n</tool_call><|im_end|>'
_TAIL = 300
"""Tokens that the scripted model looks at: they hold the last answer of a tool."""

SCROLLS = 4
"""A browser episode is so many of these and then a click."""


class Far:
    """An environment at a distance. ``seconds`` counts the time that calls took, added up over all rollouts."""

    latency_s: ClassVar[float] = 0.0
    seconds: ClassVar[float] = 0.0

    def _start(self, columns: dict[str, Any]) -> Any:
        return self._timed(super()._start, columns)  # type: ignore[misc]

    def _step(self, action: Any) -> Any:
        return self._timed(super()._step, action)  # type: ignore[misc]

    @staticmethod
    def _timed(call: Any, argument: Any) -> Any:
        started = time.perf_counter()
        time.sleep(Far.latency_s)
        result = call(argument)
        Far.seconds += time.perf_counter() - started
        return result


class FarCatch(Far, CatchTools):
    """Catch."""


class FarBrowser(Far, BrowserTextTools):
    """A browser."""


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        name: of the environment.
        server: its target.
        tools: for the model.
        rollouts: in a batch.
        steps: of an episode.
        arguments: of the tools' class.
        reward: a reward function, which is never called.
        answer: what the scripted model says, given the end of a conversation and the number of its calls so far.
        shown: what an environment shows, from which the tokenizer learns its words.
    """

    name: str
    server: str
    tools: Any
    rollouts: int
    steps: int
    arguments: dict[str, Any]
    reward: Any
    answer: Callable[[str, int], str]
    shown: str


def play_catch(text: str, calls: int) -> str:
    """Stay where one is."""
    return END if "ed the ball" in text else STAY


def play_browser(text: str, calls: int) -> str:
    """Scroll, then click the button."""
    if "The task is" in text:
        return END
    buttons = re.findall(r"\[(\d+)\] button", text)
    return SCROLL if calls < SCROLLS else CLICK.format(bid=buttons[-1])


END = "Done.<|im_end|>"
BOARD = "Row 2 of 10: the ball is in column 1, the paddle in column 3.\nThe ball is to the left."
PAGE = "Goal: Click the button.\n\nPage:\nRootWebArea 'Click Test Task', focused\n\t[13] button 'Click Me!'"
CATCH = Case("catch", "openspiel_env_server:spec", FarCatch, 64, 9, {}, catch_reward, play_catch, BOARD)
BROWSER = Case(
    "browser",
    "browsergym_env_server:spec",
    FarBrowser,
    16,
    SCROLLS + 1,
    {"task_name": "click-test"},
    browser_reward,
    play_browser,
    PAGE,
)


def _trainer(case: Case, factory: Any) -> Any:
    environment = factory()
    schemas = [get_json_schema(getattr(environment, name)) for name in tool_names(type(environment))]
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": f"{case.tools.prompt}\n\n{case.shown}"},
        {"role": "tool", "name": "look", "content": case.shown},
        {"role": "assistant", "content": "Done."},
    ]
    tokenizer = make_tokenizer([talk] * 4, schemas)
    model = make_model(tokenizer)
    model.config.max_position_embeddings = 32768  # nothing is computed with it, and rollouts may be long
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=case.reward,
        train_dataset=make_dataset(case.rollouts, 0, prompt=case.tools.prompt),
        environment_factory=factory,
        args=GRPOConfig(
            output_dir="/tmp/openenv-bench-training",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=case.rollouts,
            num_generations=8,
            max_completion_length=16384,
            max_steps=1,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
    )

    mark = tokenizer.convert_tokens_to_ids("<tool_call>")
    in_prompt: list[int] = []

    def engine(prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        in_prompt[:] = in_prompt or [prompt_ids[0].count(mark)]
        said = [case.answer(tokenizer.decode(ids[-_TAIL:]), ids.count(mark) - in_prompt[0]) for ids in prompt_ids]
        return [tokenizer.encode(text, add_special_tokens=False) for text in said], None

    trainer._generate_single_turn = engine
    # The rollouts alone are timed: neither the model's forward pass nor its update.
    trainer._calculate_rewards = _stop
    return trainer


class _RolloutsDone(Exception):
    """Ends a run where the rewards would be asked for."""


def _stop(*_: Any, **__: Any) -> Any:
    raise _RolloutsDone


def measure(case: Case, url: str, latency_s: float, *, parallel: bool) -> tuple[float, float]:
    """Seconds for the rollouts of one batch, and the time that its calls of the environment took, added up."""
    Far.latency_s, Far.seconds = latency_s, 0.0
    with environment_factory(case.tools, url, **case.arguments) as factory:
        trainer = _trainer(case, factory)
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
        steps = {slot.episode.steps for slot in factory._made if slot.episode.begun}
        assert steps == {case.steps}, f"episodes of {steps} steps"
    return spent[0], Far.seconds


def compare(case: Case, latencies_ms: list[float], repeats: int) -> None:
    """Print a line for each latency."""
    with ProcessRuntime(case.server, arguments=["--max-sessions", str(case.rollouts + 2)]) as runtime:
        print(f"{case.rollouts} rollouts of {case.name}, {case.steps} steps each, seconds")
        measure(case, runtime.base_url, 0.0, parallel=True)  # the first one starts what the server starts late
        for latency in latencies_ms:
            best = {
                way: min(measure(case, runtime.base_url, latency / 1000, parallel=way) for _ in range(repeats))
                for way in (False, True)
            }
            (plain, inside), (parallel, _) = best[False], best[True]
            print(
                f"latency {latency:g} ms: plain {plain:.2f} ({inside / plain:.0%} of it in the environment), "
                f"parallel {parallel:.2f}, ratio {plain / parallel:.1f}",
                flush=True,
            )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", choices=["catch", "browser", "both"], default="both", help="what is played")
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0.0, 20.0, 100.0], help="of each call")
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement; the best counts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for case in (CATCH, BROWSER):
        if options.environment in (case.name, "both"):
            compare(case, options.latency_ms, options.repeats)


if __name__ == "__main__":
    main()
