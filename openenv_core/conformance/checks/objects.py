"""What only the environment object itself can tell. It is made and called here, not behind a server."""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.direct import DirectObject, with_object
from openenv_core.conformance.records import Trajectory
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.wire.values import model_json

__all__ = ["CHECKS"]

_NOT_AT_HAND = "only the object can tell, and it is behind a server"
_A_FEW_STEPS = 5

Call = tuple[str, Callable[[], Any]]


def close_idempotent(bench: Bench) -> Finding:
    """``close`` may be called twice, and before any reset."""
    spec = bench.subject.spec
    if spec is None:
        return skipped(_NOT_AT_HAND)
    for played in (True, False):
        fault = with_object(spec, partial(_close_twice, played=played), limit_s=bench.options.timeout_s)
        if fault is not None:
            return failed(fault, "Give back only what is still held: take it, set it to None, then close it")
    return passed("closed twice, with and without a reset")


def _close_twice(environment: DirectObject, *, played: bool) -> str | None:
    if played:
        with suppress(Exception):  # what is raised is another check's affair
            environment.reset(seed=0)
    for count in ("first", "second"):
        try:
            environment.close()
        except Exception as error:  # noqa: BLE001 - an environment's close may raise anything
            before = "" if played else ", without a reset before,"
            return f"the {count} close{before} raised {type(error).__name__}: {error}"
    return None


def process_random(bench: Bench) -> Finding:
    """The process-wide generators are neither drawn from nor seeded."""
    spec = bench.subject.spec
    if spec is None:
        return skipped(_NOT_AT_HAND)
    played = bench.episodes[0].head(_A_FEW_STEPS)
    fault: str | None = None
    for _ in range(2):
        # Twice, since the keepalive of a connection in this process may draw meanwhile; that it does so again is rare.
        watch = partial(_watch, played=played, before=_generators())
        fault = with_object(spec, watch, limit_s=bench.options.timeout_s)
        if fault is None:
            break
    if fault is not None:
        return failed(fault, "Own a generator, self.random = random.Random(seed): others draw from that one, too")
    return passed(f"{' and '.join(_generators())} untouched")


def _watch(environment: DirectObject, *, played: Trajectory, before: dict[str, str]) -> str | None:
    """The first call that touches a process-wide generator."""
    calls: list[Call] = [("making the object", lambda: None), *_two_episodes(environment, played)]
    for name, call in [*calls, ("a reset without a seed", environment.reset)]:
        with suppress(Exception):  # what is raised is another check's affair
            call()
        now = _generators()
        for generator, state in now.items():
            # A library that is imported only now begins with a state of its own.
            if before.get(generator, state) != state:
                return f"{name} drew from, or seeded, the process-wide generator of {generator}"
        before = now
    return None


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
    spec = bench.subject.spec
    if spec is None:
        return skipped(_NOT_AT_HAND)
    played = bench.episodes[0].head(_A_FEW_STEPS)
    fault = with_object(spec, partial(_reuse, played=played), limit_s=bench.options.timeout_s)
    if fault is not None:
        return failed(fault, "Return a new observation each time, with copies of what the environment goes on changing")
    return passed("each observation is its own")


def _reuse(environment: DirectObject, *, played: Trajectory) -> str | None:
    """The first call that changes what an earlier one returned."""
    seen: list[tuple[str, Any, bytes]] = []
    for name, call in _two_episodes(environment, played):
        try:
            observation = call()
        except Exception:  # noqa: BLE001 - what is raised is another check's affair
            continue
        for earlier, kept, text in seen:
            if kept is observation:
                return f"{name} returned the same object as {earlier}"
            if model_json(kept) != text:
                return f"{name} changed the observation that {earlier} had returned"
        seen.append((name, observation, model_json(observation)))
    return None


def _two_episodes(environment: DirectObject, played: Trajectory) -> Iterator[Call]:
    for number in ("first", "second"):
        yield f"the {number} reset", partial(environment.reset, seed=played.seed)
        for count, action in enumerate(played.actions, start=1):
            yield f"step {count}", partial(environment.step, action)


CHECKS = (
    Check("close_idempotent", "close may be called twice", close_idempotent),
    Check("process_random", "the process-wide generators are left alone", process_random, needs=("plays",)),
    Check("buffer_reuse", "an observation does not change after it was returned", buffer_reuse, needs=("plays",)),
)
