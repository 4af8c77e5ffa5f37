"""Sessions know nothing of each other."""

from openenv_core.conformance.bench import SESSIONS, Bench
from openenv_core.conformance.play import RawClient, options_of, replay, reset_turn, step_turn, turn_of
from openenv_core.conformance.records import Trajectory, Turn, text_of, trajectory_difference
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.verdicts import judge_strangers, strange_texts
from openenv_core.errors import CapacityReachedError, OpenEnvError

__all__ = ["CHECKS"]

_REMEDY = "Keep what belongs to an episode on the object (self), never on the class or the module"
_UNTOLD_CAPACITY = 2


def sessions_isolated(bench: Bench) -> Finding:
    """Two sessions, played in turns, do not see each other; where there is room for one only, the next sees nothing."""
    own = bench.episodes[0]
    other = next((episode for episode in bench.episodes[1:] if episode.actions), own)
    with bench.client() as client:
        alone = replay(client, own)
        is_repeatable = trajectory_difference(own, alone) is None
    if bench.capacity is not None and bench.capacity.max == 1:
        return _one_after_the_other(bench, own, other)
    with bench.client() as first, bench.client() as second:
        try:
            played = _in_turns(first, second, own, other)
        except CapacityReachedError:
            return _one_after_the_other(bench, own, other)
        steps = [played[0].steps, played[1].steps]
        states = [first.state().model_dump(), second.state().model_dump()]
    if is_repeatable and (difference := trajectory_difference(own, played[0])) is not None:
        return failed(f"with another session beside it, seed {own.seed} went differently: {difference}", _REMEDY)
    stranger = judge_strangers(played[0].turns, strange_texts(own, other))
    if stranger is not None:
        return failed(f"a session saw {stranger!r}, which another one said", _REMEDY)
    for told, count, episode in zip(states, steps, (own, other), strict=True):
        if (told.get("step_count", count), told.get("episode_id") or episode.episode_id) != (count, episode.episode_id):
            return failed(
                f"a session of {count} steps named {episode.episode_id!r} tells of {told.get('step_count')} steps and "
                f"{told.get('episode_id')!r}",
                _REMEDY,
            )
    if not is_repeatable:
        return skipped("texts and states did not mix; more can be told once a seed fixes an episode")
    return passed(f"{steps[0]} and {steps[1]} steps in turns, each as if alone")


def _in_turns(first: RawClient, second: RawClient, own: Trajectory, other: Trajectory) -> tuple[Trajectory, Trajectory]:
    turns: tuple[list[Turn], list[Turn]] = ([], [])
    sides = tuple(zip((first, second), (own, other), turns, strict=True))
    for client, episode, made in sides:
        made.append(reset_turn(client, **options_of(episode.seed, episode.episode_id)))
        if isinstance(made[-1].error, CapacityReachedError):
            raise made[-1].error
    for number in range(max(len(own.actions), len(other.actions))):
        for client, episode, made in sides:
            if number < len(episode.actions) and not made[-1].done:
                made.append(step_turn(client, episode.actions[number]))
    played = [Trajectory(episode.seed, episode.episode_id, tuple(made)) for _, episode, made in sides]
    return played[0], played[1]


def _one_after_the_other(bench: Bench, own: Trajectory, other: Trajectory) -> Finding:
    with bench.client() as client:
        replay(client, other)
    with bench.client() as client:
        turn = reset_turn(client, **options_of(own.seed, "another name"))
        told = client.state().model_dump()
    if told.get("step_count", 0) != 0 or told.get("episode_id") == other.episode_id:
        return failed(f"a new session begins with the state of the one before: {text_of(told):.100}", _REMEDY)
    stranger = judge_strangers([turn], strange_texts(own.head(0), other))
    if stranger is not None:
        return failed(f"a new session saw {stranger!r}, which the one before said", _REMEDY)
    return passed("one session at a time; the next one knows nothing of it")


def concurrency(bench: Bench) -> Finding:
    """Many sessions at once: each goes as if it were alone."""
    traits = bench.traits
    if traits is not None and not traits.concurrency_safe:
        return skipped("the class does not say that its instances may run side by side (concurrency_safe = True)")
    capacity = bench.capacity
    room = _UNTOLD_CAPACITY if capacity is None else min(SESSIONS, capacity.max - capacity.active)
    if room < 2:
        return skipped("the server has room for one session only")
    expected = [bench.episodes[number % len(bench.episodes)] for number in range(room)]
    try:
        played = _side_by_side(bench, expected)
    except CapacityReachedError as error:
        return skipped(f"the server is full: {error.message}")
    for alone, together in zip(expected, played, strict=True):
        difference = trajectory_difference(alone, together)
        if difference is not None:
            return failed(f"among {room} sessions at once, seed {alone.seed} went differently: {difference}", _REMEDY)
    return passed(f"{room} sessions at once, each as if alone")


def _side_by_side(bench: Bench, expected: list[Trajectory]) -> list[Trajectory]:
    with bench.batch(len(expected)) as batch:
        results = batch.reset(
            options=[options_of(episode.seed, episode.episode_id) for episode in expected], return_exceptions=True
        )
        turns = [[_batch_turn(None, result)] for result in results]
        for number in range(max(len(episode.actions) for episode in expected)):
            actions = {
                index: episode.actions[number]
                for index, episode in enumerate(expected)
                if number < len(episode.actions) and not turns[index][-1].done and turns[index][0].error is None
            }
            answers = batch.step(actions, return_exceptions=True) if actions else []
            for (index, action), answer in zip(actions.items(), answers, strict=True):
                turns[index].append(_batch_turn(text_of(action), answer))
    return [Trajectory(e.seed, e.episode_id, tuple(made)) for e, made in zip(expected, turns, strict=True)]


def _batch_turn(action: str | None, result: object) -> Turn:
    if isinstance(result, CapacityReachedError):
        raise result
    if isinstance(result, OpenEnvError):
        return Turn(action, error=result)
    return turn_of(action, result)  # type: ignore[arg-type]


CHECKS = (
    Check("sessions_isolated", "two sessions do not see each other", sessions_isolated, needs=("plays",)),
    Check("concurrency", "many sessions at once go as if each were alone", concurrency, needs=("seed_two_sessions",)),
)
