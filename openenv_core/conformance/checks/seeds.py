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
    with bench.client() as client:
        # The actions of one episode may be such that no seed shows in their answers.
        for each in bench.episodes:
            finding = judge_seeds(each, _other_seeds(client, each))
            if finding is not None:
                return finding
        if bench.traits is not None:
            if not bench.traits.reset_options.takes_seed:
                return skipped(
                    "its reset takes no seed, so that one that a client gives is lost: right where nothing is random"
                )
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
        if not _repeats_the_seed(client, played, played):
            return passed("episodes without a seed differ")
        # Where most episodes look alike, the seed's is repeated by chance. That of either of two that differ is not:
        # whatever the chances are, both at once have one of at most 1 in 4, and that as many times over as is tried.
        seeded = replay(client, played)
        other = next((each for each in _other_seeds(client, played) if trajectory_difference(seeded, each)), None)
        if other is None:
            return skipped(f"no two of {_SEEDS + 1} seeds can be told apart by the actions that were made")
        if not _repeats_the_seed(client, played, other):
            return passed("episodes without a seed differ")
    return failed(
        f"after reset(seed={played.seed}), {_SEEDS} resets without a seed repeat its episode, and after "
        f"reset(seed={other.seed}) that one's",
        "make the generator anew from seed in every reset, or go on with the one that is there",
    )


def _repeats_the_seed(client: RawClient, played: Trajectory, of: Trajectory) -> bool:
    """Whether every reset without a seed repeats the episode of the seed before."""
    seeded = replay(client, played, seed=of.seed)
    return all(trajectory_difference(seeded, each) is None for each in _unseeded(client, played))


def _other_seeds(client: RawClient, played: Trajectory) -> Iterator[Trajectory]:
    """The actions of an episode under other seeds than its own."""
    first = (played.seed or 0) + 1
    return (replay(client, played, seed=seed) for seed in range(first, first + _SEEDS))


def _unseeded(client: RawClient, played: Trajectory) -> Iterator[Trajectory]:
    return (replay(client, played, unseeded=True) for _ in range(_SEEDS))


CHECKS = (
    Check("seed_same_session", "the same seed gives the same episode again", seed_same_session, needs=("plays",)),
    Check("seed_two_sessions", "it does so in another session", seed_two_sessions, needs=("plays",)),
    Check("seed_two_processes", "it does so in another process", seed_two_processes, needs=("seed_two_sessions",)),
    Check("seed_matters", "another seed gives another episode", seed_matters, needs=("plays",)),
    Check("reset_without_seed", "no seed is not the last seed", reset_without_seed, needs=("plays",)),
)
