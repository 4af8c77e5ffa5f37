"""What only the environment object itself can tell. It is made and called here, not behind a server."""

import asyncio
import random
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from pydantic import TypeAdapter

from openenv_core.backends.inline import InlineHandle
from openenv_core.conformance.bench import Bench
from openenv_core.conformance.records import Trajectory, text_of
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.environment import EnvironmentSpec
from openenv_core.errors import CallTimeoutError
from openenv_core.wire.values import model_json

__all__ = ["CHECKS"]

ValueT = TypeVar("ValueT")

_NOT_AT_HAND = "only the object can tell, and a URL hides it"
_A_FEW_STEPS = 5


class _Object:
    """One environment object, called as its backend would call it."""

    def __init__(self, spec: EnvironmentSpec, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._action: TypeAdapter[Any] = TypeAdapter(spec.action_type)
        made = spec.factory()
        self._handle = InlineHandle(runner.run(made) if asyncio.iscoroutine(made) else made)
        self.traits = self._handle.traits

    def call(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        method = self._handle.immediate(verb)
        if method is not None:
            return method(*args, **kwargs)
        return self._runner.run(self._handle.call(verb, *args, **kwargs))

    def reset(self, **options: Any) -> Any:
        return self.call(self.traits.reset, **self.traits.reset_options.check(options))

    def step(self, action: dict[str, Any]) -> Any:
        return self.call(self.traits.step, self._action.validate_json(text_of(action)))

    def close(self) -> None:
        if self.traits.close is not None:
            self.call(self.traits.close)


def _with_object(bench: Bench, use: Callable[[_Object], ValueT]) -> ValueT:
    """Make an object, use it, and close it, all in one thread, within the limit of a call for each step.

    Raises:
        CallTimeoutError: it took longer.
    """
    spec = bench.subject.spec
    assert spec is not None, "only a known environment can be made"
    limit_s = bench.options.timeout_s
    outcome: list[Any] = []

    def run() -> None:
        try:
            with asyncio.Runner() as runner:
                outcome.append((use(_Object(spec, runner)), None))
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, who raises it in his thread
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="checked-object", daemon=True)
    thread.start()
    thread.join(limit_s)
    if not outcome:
        raise CallTimeoutError(f"the object did not finish within {limit_s:g} s; --timeout N waits longer")
    value, error = outcome[0]
    if error is not None:
        raise error
    found: ValueT = value
    return found


def close_idempotent(bench: Bench) -> Finding:
    """``close`` may be called twice, and before any reset."""
    if bench.subject.spec is None:
        return skipped(_NOT_AT_HAND)

    def close_twice(environment: _Object, *, played: bool) -> str | None:
        if played:
            environment.reset(seed=bench.options.seed)
        for count in ("first", "second"):
            try:
                environment.close()
            except Exception as error:  # noqa: BLE001 - an environment's close may raise anything
                before = "" if played else ", without a reset before,"
                return f"the {count} close{before} raised {type(error).__name__}: {error}"
        return None

    for played in (True, False):
        fault = _with_object(bench, partial(close_twice, played=played))
        if fault is not None:
            return failed(fault, "Give back only what is still held: take it, set it to None, then close it")
    return passed("closed twice, with and without a reset")


def process_random(bench: Bench) -> Finding:
    """The process-wide generators are neither drawn from nor seeded."""
    if bench.subject.spec is None:
        return skipped(_NOT_AT_HAND)
    played = bench.episodes[0].head(_A_FEW_STEPS)
    before = _generators()

    def watch(environment: _Object) -> str | None:
        known = before
        calls: list[tuple[str, Callable[[], Any]]] = [("making the object", lambda: None)]
        for _ in range(2):  # what a first call imports can be watched from the second on
            calls.append(("reset", partial(environment.reset, seed=played.seed)))
            calls += [("step", partial(environment.step, action)) for action in played.actions]
        calls.append(("reset without a seed", environment.reset))
        calls.append(("close", environment.close))
        for name, call in calls:
            with suppress(Exception):  # what is raised is another check's affair
                call()
            now = _generators()
            for generator, state in now.items():
                if known.get(generator, state) != state:
                    return f"{name} drew from, or seeded, the process-wide generator of {generator}"
            known = now
        return None

    kept = random.getstate()
    try:
        fault = _with_object(bench, watch)
    finally:
        random.setstate(kept)
    if fault is not None:
        return failed(fault, "Own a generator, self.random = random.Random(seed): others draw from that one, too")
    return passed(f"{' and '.join(_generators())} untouched")


def _generators() -> dict[str, str]:
    """The states of the process-wide generators, as texts."""
    found = {"random": repr(random.getstate())}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, *rest = numpy.random.get_state()
        found["numpy.random"] = repr((name, keys.tobytes(), rest))
    return found


def buffer_reuse(bench: Bench) -> Finding:
    """An observation that was returned does not change when the environment goes on."""
    if bench.subject.spec is None:
        return skipped(_NOT_AT_HAND)
    played = bench.episodes[0].head(_A_FEW_STEPS)
    fault = _with_object(bench, lambda environment: _reuse(environment, played))
    if fault is not None:
        return failed(fault, "Return a new observation each time, with copies of what the environment goes on changing")
    return passed("each observation is its own")


def _reuse(environment: _Object, played: Trajectory) -> str | None:
    seen: list[tuple[str, Any, bytes]] = []

    def look(name: str, observation: Any) -> str | None:
        for earlier, kept, text in seen:
            if kept is observation:
                return f"{name} returned the same object as {earlier}"
            if model_json(kept) != text:
                return f"{name} changed the observation that {earlier} had returned"
        seen.append((name, observation, model_json(observation)))
        return None

    try:
        calls: list[tuple[str, Callable[[], Any]]] = []
        for number in ("first", "second"):
            calls.append((f"the {number} reset", partial(environment.reset, seed=played.seed)))
            calls += [
                (f"step {count}", partial(environment.step, action))
                for count, action in enumerate(played.actions, start=1)
            ]
        for name, call in calls:
            try:
                observation = call()
            except Exception:  # noqa: BLE001 - what is raised is another check's affair
                continue
            if fault := look(name, observation):
                return fault
        return None
    finally:
        environment.close()


CHECKS = (
    Check("close_idempotent", "close may be called twice", close_idempotent),
    Check("process_random", "the process-wide generators are left alone", process_random, needs=("plays",)),
    Check("buffer_reuse", "an observation does not change after it was returned", buffer_reuse, needs=("plays",)),
)
