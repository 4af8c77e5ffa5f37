"""What the GRPO examples share: options of the command line, a server started where none is given, the trainer."""

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["device_settings", "load_model", "parser", "server", "train"]


def parser(description: str, *, env_name: str, model: str = "Qwen/Qwen3-0.6B") -> argparse.ArgumentParser:
    """The options that all examples have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    made.add_argument("--model", default=model, help="name or folder of a model, or 'tiny' for one made on the spot")
    made.add_argument("--env-url", help=f"a server of {env_name}; without it one is started on this machine")
    made.add_argument("--dataset-size", type=int, default=512, help="number of groups of rollouts, one seed each")
    made.add_argument("--max-steps", type=int, default=-1, help="end after so many steps")
    made.add_argument("--batch", type=int, default=16, help="rollouts in a step")
    made.add_argument("--num-generations", type=int, default=8, help="rollouts in a group")
    made.add_argument("--max-completion-length", type=int, default=1024, help="tokens of a rollout, with the answers")
    made.add_argument("--learning-rate", type=float, default=2e-6, help="learning rate")
    made.add_argument("--seed", type=int, default=0, help="seed of everything")
    made.add_argument("--cpu", action="store_true", help="train on the CPU")
    made.add_argument("--lora", type=int, default=0, metavar="RANK", help="train a LoRA of this rank; 0: all weights")
    made.add_argument("--use-vllm", action="store_true", help="generate with vLLM")
    made.add_argument("--vllm-mode", choices=["colocate", "server"], default="colocate", help="where vLLM runs")
    made.add_argument("--vllm-server-url", default="http://127.0.0.1:8000", help="address of the vLLM server")
    made.add_argument("--report-to", choices=["trackio", "wandb", "none"], default="none", help="where figures go")
    made.add_argument("--no-parallel", action="store_true", help="tool calls one after another, as TRL does by itself")
    made.add_argument("--output", type=Path, default=Path("outputs"), help="folder of the results")
    return made


@contextlib.contextmanager
def server(
    options: argparse.Namespace, env_name: str, *, sessions: int, variables: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of the server: the one that was given, or one of our own for the length of the block."""
    if options.env_url:
        yield options.env_url
        return
    from openenv_core.runtimes.process import ProcessRuntime

    with ProcessRuntime(env_name, env_vars=variables, arguments=["--max-sessions", str(sessions)]) as runtime:
        print(f"{env_name} is up at {runtime.base_url}")
        yield runtime.base_url


def device_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What a trainer's configuration needs on a machine without a GPU; nothing elsewhere."""
    if not options.cpu:
        return {}
    return {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "save_strategy": "no"}


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "output_dir": str(options.output),
        "per_device_train_batch_size": options.batch,
        "num_generations": options.num_generations,
        "steps_per_generation": 1,
        "max_completion_length": options.max_completion_length,
        "max_steps": options.max_steps,
        "learning_rate": options.learning_rate,
        "logging_steps": 1,
        "report_to": options.report_to,
        "seed": options.seed,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    settings |= device_settings(options)
    if options.use_vllm:
        settings |= {"use_vllm": True, "vllm_mode": options.vllm_mode}
        if options.vllm_mode == "server":
            settings["vllm_server_base_url"] = options.vllm_server_url
    return settings


def load_model(options: argparse.Namespace, factories: list[Any], conversations: list[Any]) -> tuple[Any, Any]:
    """The model and its tokenizer. ``tiny`` learns its words from the conversations and is untrained otherwise."""
    if options.model != "tiny":
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(options.model, padding_side="left")
        return AutoModelForCausalLM.from_pretrained(options.model, dtype="auto"), tokenizer
    from transformers.utils import get_json_schema

    from openenv_core.training import tool_names
    from openenv_core.training.demo.tiny import make_model, make_tokenizer

    schemas = [
        get_json_schema(getattr(environment, name))
        for environment in (factory() for factory in factories)
        for name in tool_names(type(environment))
    ]
    tokenizer = make_tokenizer(conversations, schemas)
    return make_model(tokenizer, seed=options.seed), tokenizer


def train(
    options: argparse.Namespace, *, factory: Any, rewards: Any, rows: list[dict[str, Any]], model: Any = None
) -> Any:
    """Train and return the trainer.

    Args:
        options: of the command line.
        factory: of ``environment_factory``, or a ``MultiEnvironment``.
        rewards: the reward functions.
        rows: of the dataset.
        model: a model and its tokenizer; default: the one that the options name.
    """
    if options.cpu:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from openenv_core.training import prepare

    arguments: dict[str, Any] = {}
    if options.lora:
        from peft import LoraConfig

        arguments["peft_config"] = LoraConfig(r=options.lora, lora_alpha=2 * options.lora, target_modules="all-linear")
    factories = list(factory.values()) if isinstance(factory, dict) else [factory]
    if model is not None or options.model == "tiny":
        found = model or load_model(options, factories, [row["prompt"] for row in rows[:4]])
        arguments |= {"model": found[0], "processing_class": found[1]}
    else:
        arguments["model"] = options.model
    trainer = GRPOTrainer(
        args=GRPOConfig(**_settings(options)),
        train_dataset=Dataset.from_list(rows),
        reward_funcs=rewards,
        environment_factory=factory,
        **arguments,
    )
    prepare(trainer, parallel=not options.no_parallel)
    trainer.train()
    return trainer
