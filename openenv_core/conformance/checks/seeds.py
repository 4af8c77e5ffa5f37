"""A seed fully determines an episode."""

from collections.abc import Iterator

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.play import RawClient, replay
from openenv_core.conformance.records import Trajectory, trajectory_difference
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.verdicts import judge_repeats, judge_seeds
from openenv_core.errors import ConnectionFailedError
from openenv_core.runtimes.process import ProcessRuntime

__all__ = ["CHECKS"]

_SEEDS = 20
"""So many seeds, or resets without one, are tried before they are taken to be all alike."""

_A_FEW_STEPS = 5
_REMEDY = "Make self.random = random.Random(seed) in reset, and draw from it and nothing else"


def seed_same_session(bench: Bench) -> Finding:
    """In one session, the same seed gives the same episode again: right after, and after a reset without a seed."""

    def pairs() -> Iterator[tuple[str, Trajectory, Trajectory]]:
        with bench.client() as client:
            for played in bench.episodes:
                first = replay(client, played)
                yield "second reset of a session", first, replay(client, played)
                replay(client, played.head(_A_FEW_STEPS), unseeded=True)
                yield "reset after one without a seed", first, replay(client, played)

    return judge_repeats(pairs(), _REMEDY)


def seed_two_sessions(bench: Bench) -> Finding:
    """In another session, the same seed gives the same episode."""

    def pairs() -> Iterator[tuple[str, Trajectory, Trajectory]]:
        for played in bench.episodes:
            with bench.client() as client:
                yield "another session", played, replay(client, played)

    return judge_repeats(pairs(), _REMEDY)


def seed_two_processes(bench: Bench) -> Finding:
    """In another process, the same seed gives the same episode."""
    if bench.subject.text is None:
        return skipped("only what can be named to another process can be played there: check module:Class")
    # Another hash seed: a seed must not go through hash(), nor an episode depend on the order of a set.
    variables = {"PYTHONHASHSEED": "4711", "MAX_CONCURRENT_ENVS": "1", "OPENENV_TOKEN": bench.options.token or ""}
    runtime = ProcessRuntime(bench.subject.text, env_vars=variables)
    try:
        runtime.start()
    except ConnectionFailedError as error:
        return skipped(f"it does not start in another process: {error.message.splitlines()[0]}")
    try:
        return judge_repeats(
            _elsewhere(bench, runtime.base_url), f"{_REMEDY}; hash() and sets differ between processes"
        )
    finally:
        runtime.stop()


def _elsewhere(bench: Bench, base_url: str) -> Iterator[tuple[str, Trajectory, Trajectory]]:
    for played in bench.episodes:
        with bench.client(base_url) as client:
            yield "another process", played, replay(client, played)


def seed_matters(bench: Bench) -> Finding:
    """Another seed gives another episode."""
    played = bench.episodes[0]
    seeds = range(bench.options.seed + 1, bench.options.seed + 1 + _SEEDS)
    with bench.client() as client:
        finding = judge_seeds(played, (replay(client, played, seed=seed) for seed in seeds))
        if finding is not None:
            return finding
        if bench.traits is not None:
            options = bench.traits.reset_options
            if "seed" not in options.names and not options.takes_any:
                return skipped("its reset takes no seed: the class says that there is nothing to choose")
        elif all(trajectory_difference(played, each) is None for each in _unseeded(client, played)):
            return skipped(f"nothing random was seen: {_SEEDS} seeds and {_SEEDS} resets without one give one episode")
    return failed(
        f"{_SEEDS} seeds all give the same episode",
        f"{_REMEDY}. Where nothing is random, take no seed in reset, or leave this check out (--skip seed_matters)",
    )


def reset_without_seed(bench: Bench) -> Finding:
    """A reset without a seed does not repeat the episode of the seed before."""
    played = bench.episodes[0].head(_A_FEW_STEPS)
    with bench.client() as client:
        unseeded = _unseeded(client, played)
        first = next(unseeded)
        if not any(trajectory_difference(first, each) for each in unseeded):
            return passed("episodes without a seed are all alike")
    with bench.client() as client:
        seeded = replay(client, played)
        if any(trajectory_difference(seeded, each) for each in _unseeded(client, played)):
            return passed("episodes without a seed differ")
    return failed(
        f"after reset(seed={played.seed}), {_SEEDS} resets without a seed repeat its episode",
        "make the generator anew from seed in every reset, or go on with the one that is there",
    )


def _unseeded(client: RawClient, played: Trajectory) -> Iterator[Trajectory]:
    return (replay(client, played, unseeded=True) for _ in range(_SEEDS))


CHECKS = (
    Check("seed_same_session", "the same seed gives the same episode again", seed_same_session, needs=("plays",)),
    Check("seed_two_sessions", "it does so in another session", seed_two_sessions, needs=("plays",)),
    Check("seed_two_processes", "it does so in another process", seed_two_processes, needs=("seed_two_sessions",)),
    Check("seed_matters", "another seed gives another episode", seed_matters, needs=("plays",)),
    Check("reset_without_seed", "no seed is not the last seed", reset_without_seed, needs=("plays",)),
)
