"""Train for a few steps while a fault happens: ``faults.py SCENARIO BASE_URL``."""

import math
import sys
from typing import Any

from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import environment_factory, prepare
from tests.training.trl_scripts.engine import answer, make_trainer
from tests.training.worlds import ClimbTools

STEPS = 3


def train(base_url: str, *, parallel: bool, check: bool = True, meddle: Any = None, **arguments: Any) -> dict[str, Any]:
    """Run and report. ``meddle`` is called before each turn of generation with the number of turns so far."""
    factory = environment_factory(ClimbTools, base_url, max_fault_rate=0.9, **arguments)
    rewards: list[list[float | None]] = []
    trainer = make_trainer(factory, rewards, steps=STEPS)
    if meddle is not None:
        engine, turns = trainer._generate_single_turn, 0

        def generate(*args: Any, **kwargs: Any) -> Any:
            nonlocal turns
            turns += 1
            meddle(turns)
            return engine(*args, **kwargs)

        trainer._generate_single_turn = generate
    prepare(trainer, parallel=parallel, check=check)
    trainer.train()
    log = [entry for entry in trainer.state.log_history if "reward" in entry]
    return {
        "rewards": rewards,
        "faults": dict(factory.monitor.totals),
        "fault_rates": [entry["env/ClimbTools/fault_rate"] for entry in log],
        "logged": [_number(entry["reward"]) for entry in log],
        "finite": all(bool(parameter.isfinite().all()) for parameter in trainer.model.parameters()),
    }


def _number(logged: Any) -> float | None:
    """What was logged, where it is a number: a batch without any reward has no mean."""
    return None if logged is None or math.isnan(float(logged)) else float(logged)


def restart(parallel: bool) -> dict[str, Any]:
    """The server is stopped and started again, at the same port, in the middle of the second step."""
    runtime = ProcessRuntime("tests.training.worlds:Climb", arguments=["--max-sessions", "20"])
    runtime.start()
    others = [runtime]

    def meddle(turns: int) -> None:
        if turns == 7:  # at most 5 turns a step: this is in the second one, after its first calls
            port = int(runtime.base_url.rpartition(":")[2])
            runtime.stop()
            again = ProcessRuntime("tests.training.worlds:Climb", arguments=["--max-sessions", "20"], port=port)
            again.start()
            others.append(again)

    try:
        return train(runtime.base_url, parallel=parallel, meddle=meddle)
    finally:
        for other in others:
            other.stop()


if __name__ == "__main__":
    scenario, url, parallel = sys.argv[1], sys.argv[2], sys.argv[3] == "parallel"
    if scenario == "restart":
        answer(**restart(parallel))
    elif scenario == "full":
        answer(**train(url, parallel=parallel, check=False))
    else:
        answer(**train(url, parallel=parallel, message_timeout_s=2.0, reconnect_timeout_s=2.0))
