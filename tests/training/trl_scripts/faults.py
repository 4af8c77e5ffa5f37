"""Train for a few steps while faults happen, each plain and in parallel; prints what became of every run.

All in one process, as loading TRL takes longer than a run.
"""

import asyncio
import math
from typing import Any, ClassVar

from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import environment_factory, prepare
from tests.support.serving import serving
from tests.training.trl_scripts.engine import answer, make_trainer
from tests.training.worlds import Climb, ClimbAction, ClimbObservation, ClimbTools, climb_reward, lose_sessions

STEPS = 3
AMID = 20
"""Each of 16 rollouts takes two to four steps, so the twentieth is in the middle of the first batch."""


class Counting(Climb):
    """Counts steps over all sessions, and the objects that were made and closed."""

    steps: ClassVar[int] = 0
    made: ClassVar[int] = 0
    closed: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Counting.made += 1

    def close(self) -> None:
        """Count it."""
        Counting.closed += 1


class Stuck(Counting):
    """One step does not come back."""

    async def step(self, action: ClimbAction) -> ClimbObservation:  # type: ignore[override]
        """Climb, or stay in it for ever."""
        Counting.steps += 1
        if Counting.steps == AMID:
            await asyncio.Event().wait()
        return Climb.step(self, action)


class Breaking(Counting):
    """One step raises."""

    def step(self, action: ClimbAction) -> ClimbObservation:
        """Climb, or break."""
        Counting.steps += 1
        if Counting.steps == AMID:
            raise RuntimeError("the ladder broke")
        return super().step(action)


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
        "reasons": sorted({key for entry in log for key in entry if key.startswith("env/ClimbTools/faults/")}),
        "finite": all(bool(parameter.isfinite().all()) for parameter in trainer.model.parameters()),
    }


def _number(logged: Any) -> float | None:
    """What was logged, where it is a number: a batch without any reward has no mean."""
    return None if logged is None or math.isnan(float(logged)) else float(logged)


def lost(parallel: bool) -> dict[str, Any]:
    """One of sixteen sessions is lost."""
    with serving(Climb, env_name="climb", limits={"max_sessions": 20}) as served:
        gone = lose_sessions(served, 1, at_step=AMID)
        try:
            facts = train(served.base_url, parallel=parallel)
        finally:
            Climb.before_step = None
        return {**facts, "happened": gone.is_set(), "left": served.active}


def full(parallel: bool) -> dict[str, Any]:
    """Somebody else has ten of the twenty sessions."""
    with serving(Climb, env_name="climb", limits={"max_sessions": 20}) as served:
        with environment_factory(ClimbTools, served.base_url) as others:
            held = [others() for _ in range(10)]
            for one in held:
                one.reset(top=3)
            facts = train(served.base_url, parallel=parallel, check=False)
        return {**facts, "left": served.active}


def world(kind: type[Counting], parallel: bool) -> dict[str, Any]:
    """A server of one of the worlds above."""
    Counting.steps = Counting.made = Counting.closed = 0
    limits = {"max_sessions": 20, "step_deadline_s": 1.0}
    with serving(kind, env_name="climb", limits=limits) as served:
        facts = train(served.base_url, parallel=parallel)
        return {**facts, "left": served.active, "unclosed": Counting.made - Counting.closed}


def raising(parallel: bool) -> dict[str, Any]:
    """The reward function raises in the second step."""
    calls = 0

    def reward(**arguments: Any) -> list[float | None]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ZeroDivisionError("a mistake in a reward function")
        return climb_reward(**arguments)

    with serving(Climb, env_name="climb", limits={"max_sessions": 20}) as served:
        trainer = make_trainer(environment_factory(ClimbTools, served.base_url), [], steps=STEPS, reward=reward)
        prepare(trainer, parallel=parallel)
        raised = ""
        try:
            trainer.train()
        except ZeroDivisionError as error:
            raised = str(error)
        return {"raised": raised, "left": served.active}


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


def main() -> None:
    """Run all."""
    found: dict[str, Any] = {}
    for way in ("plain", "parallel"):
        parallel = way == "parallel"
        found |= {
            f"lost {way}": lost(parallel),
            f"full {way}": full(parallel),
            f"stuck {way}": world(Stuck, parallel),
            f"breaking {way}": world(Breaking, parallel),
            f"raising {way}": raising(parallel),
            f"restart {way}": restart(parallel),
        }
    answer(**found)


if __name__ == "__main__":
    main()
