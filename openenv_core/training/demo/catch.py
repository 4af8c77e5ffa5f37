"""Catch, learned on the CPU: games by a middling player, a warm-up on them, GRPO on a server."""

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from openenv_core.training import environment_factory, make_dataset, prepare, tool_names
from openenv_core.training.demo.tiny import make_model, make_tokenizer, training_examples, warm_up
from openenv_core.training.factory import EnvironmentFactory
from openspiel_env.tools import CatchTools, catch_reward

__all__ = ["PROMPT", "SMOLLM2", "Outcome", "Plan", "collect_games", "make_trainer", "train", "warmed_up"]

PROMPT = "Catch the ball."


@dataclass(frozen=True)
class Plan:
    """How much of everything. The defaults are those of the demonstration.

    Attributes:
        model: ``tiny``, made on the spot, or ``smollm2``.
        rows: of the board; a game takes one move less. It is 5 columns wide.
        games: played for the warm-up.
        skill: share of the moves in them that are the best one; the others are random.
        warmup_steps: how many.
        warmup_batch: conversations in each.
        warmup_learning_rate: the highest.
        steps: of GRPO.
        groups: of rollouts in a step.
        rollouts: in a group, all from the same seed.
        learning_rate: of GRPO.
        seed: of everything.
        parallel: step the rollouts of a batch at the same time.
    """

    model: str = "tiny"
    rows: int = 5
    games: int = 600
    skill: float = 0.5
    warmup_steps: int = 300
    warmup_batch: int = 16
    warmup_learning_rate: float = 5e-3
    steps: int = 40
    groups: int = 8
    rollouts: int = 8
    learning_rate: float = 5e-4
    seed: int = 0
    parallel: bool = True

    @property
    def sessions(self) -> int:
        """How many sessions the server must allow: one for each rollout of a step, and one for the check."""
        return self.groups * self.rollouts + 1


SMOLLM2 = Plan(
    model="smollm2",
    rows=3,
    games=64,
    warmup_steps=12,
    warmup_batch=2,
    warmup_learning_rate=1e-4,
    steps=10,
    groups=2,
    rollouts=4,
    learning_rate=1e-5,
)
"""For a model a thousand times as large, each step of which takes a minute on a busy processor: games of two moves."""


@dataclass
class Outcome:
    """What a run has given.

    Attributes:
        rewards: mean reward of each step of GRPO.
        log: what the trainer logged at each step.
        seconds: wall time, by part.
        parameters: of the model.
        warmup_loss: at the end of the warm-up.
    """

    rewards: list[float] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    parameters: int = 0
    warmup_loss: float = 0.0

    @property
    def rise(self) -> float:
        """Mean reward of the last ten steps less that of the first five."""
        first, last = self.rewards[:5], self.rewards[-10:]
        return sum(last) / len(last) - sum(first) / len(first)


def collect_games(factory: EnvironmentFactory, plan: Plan) -> list[list[dict[str, Any]]]:
    """Conversations of a middling player with the server."""

    def play(seeds: Sequence[int]) -> list[list[dict[str, Any]]]:
        environment: Any = factory()
        games = [_game(environment, seed, plan) for seed in seeds]
        environment._close()
        return games

    share = 4
    seeds = [list(range(plan.seed * plan.games + start, (plan.seed + 1) * plan.games, share)) for start in range(share)]
    with ThreadPoolExecutor(share) as threads:
        return [game for games in threads.map(play, seeds) for game in games]


def _game(environment: Any, seed: int, plan: Plan) -> list[dict[str, Any]]:
    chance = random.Random(f"player {seed}")  # the server draws from the plain seed, and they must not agree
    seen = str(environment.reset(seed=seed))
    messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT + seen}]
    while not environment.done:
        best = "left" if "to the left" in seen else "right" if "to the right" in seen else "stay"
        choice = best if chance.random() < plan.skill else chance.choice(["left", "stay", "right"])
        call = ("stay", {}) if choice == "stay" else ("move", {"direction": choice})
        seen = getattr(environment, call[0])(**call[1])
        said = {"type": "function", "function": {"name": call[0], "arguments": call[1]}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [said]})
        messages.append({"role": "tool", "name": call[0], "content": seen})
    messages.append({"role": "assistant", "content": "Done."})
    return messages


def warmed_up(
    factory: EnvironmentFactory, plan: Plan, outcome: Outcome, report: Callable[[int, float], None] | None = None
) -> tuple[Any, Any]:
    """A model that knows the form of the game and plays it in a middling way, and its tokenizer.

    ``report`` is told each step of a warm-up that takes long, and its loss.
    """
    started = time.perf_counter()
    games = collect_games(factory, plan)
    outcome.seconds["games"] = time.perf_counter() - started
    environment = factory()
    schemas = [get_json_schema(getattr(environment, name)) for name in tool_names(factory.tools)]
    if plan.model == "smollm2":
        from openenv_core.training.demo.smollm2 import load_smollm2

        model, tokenizer = load_smollm2()
    else:
        tokenizer = make_tokenizer(games[:200], schemas)
        model = make_model(tokenizer, seed=plan.seed)
    outcome.parameters = sum(parameter.numel() for parameter in model.parameters())
    started = time.perf_counter()
    examples = training_examples(tokenizer, games, schemas)
    outcome.warmup_loss = warm_up(
        model,
        examples,
        steps=plan.warmup_steps,
        batch=plan.warmup_batch,
        learning_rate=plan.warmup_learning_rate,
        seed=plan.seed,
        report=report if plan.model == "smollm2" else None,
    )
    outcome.seconds["warm-up"] = time.perf_counter() - started
    return model, tokenizer


def make_trainer(model: Any, tokenizer: Any, factory: Any, plan: Plan, output: Path, **changes: Any) -> Any:
    """A trainer for the CPU. ``changes`` are arguments of ``GRPOConfig``."""
    batch = plan.groups * plan.rollouts
    settings: dict[str, Any] = {
        "output_dir": str(output),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": batch,
        "num_generations": plan.rollouts,
        "steps_per_generation": 1,
        "max_steps": plan.steps,
        "max_completion_length": 200 if plan.model == "tiny" else 256,
        "learning_rate": plan.learning_rate,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "seed": plan.seed,
        **changes,
    }
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=catch_reward,
        train_dataset=make_dataset(plan.groups * plan.steps, plan.seed, prompt=PROMPT),
        environment_factory=factory,
        args=GRPOConfig(**settings),
    )


class _Lines(TrainerCallback):  # type: ignore[misc]
    """A line for each step, in place of all figures."""

    def __init__(self, report: Callable[[str], None], steps: int) -> None:
        self._report, self._steps = report, steps

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Tell the reward."""
        if logs is not None and "reward" in logs:
            reward = float(logs["reward"])
            bar = "█" * round(30 * reward)
            self._report(f"step {state.global_step:3} of {self._steps}  reward {reward:.3f}  {bar}")


def train(base_url: str, plan: Plan, output: Path, *, report: Callable[[str], None] = print) -> Outcome:
    """The whole run on a server of Catch that allows ``plan.sessions`` sessions."""
    torch.set_num_threads(1)  # several threads spend their time waiting for each other on matrices this small
    outcome = Outcome()
    # The warm-up's games have a factory of their own: they do not belong into the figures of the training.
    with (
        environment_factory(CatchTools, base_url, rows=plan.rows) as players,
        environment_factory(CatchTools, base_url, rows=plan.rows) as factory,
    ):
        factory.check(plan.groups * plan.rollouts)
        report(f"playing {plan.games} games for the warm-up, then {plan.warmup_steps} steps of it ...")
        model, tokenizer = warmed_up(
            players, plan, outcome, lambda step, loss: report(f"warm-up step {step}: loss {loss:.3f}")
        )
        players.close()
        report(
            f"warmed up: {outcome.parameters:,} parameters, {len(tokenizer)} tokens, loss {outcome.warmup_loss:.3f}, "
            f"{outcome.seconds['warm-up']:.0f} s"
        )
        trainer = make_trainer(model, tokenizer, factory, plan, output)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(_Lines(report, plan.steps))
        prepare(trainer, parallel=plan.parallel)
        started = time.perf_counter()
        trainer.train()
        outcome.seconds["GRPO"] = time.perf_counter() - started
    outcome.log = [entry for entry in trainer.state.log_history if "reward" in entry]
    outcome.rewards = [float(entry["reward"]) for entry in outcome.log]
    return outcome
