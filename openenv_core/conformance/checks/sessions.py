"""Sessions know nothing of each other."""

from random import Random

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.play import RawClient, next_turn, options_of, replay, reset_turn, step_turn, turn_of
from openenv_core.conformance.records import Trajectory, Turn, text_of, trajectory_difference
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.verdicts import judge_strangers, strange_texts
from openenv_core.errors import OpenEnvError, SessionLostError

__all__ = ["CHECKS"]

_REMEDY = "Keep what belongs to an episode on the object (self), never on the class or the module"
_NEIGHBOURS_SEED = 1000
_NEIGHBOURS_NAME = "next door"


def sessions_isolated(bench: Bench) -> Finding:
    """A session does not notice another one; where there is room for one only, the next one sees nothing of it."""
    if bench.room == 1:
        return _one_after_the_other(bench)
    told = 0
    with bench.client() as neighbour:
        for own in bench.episodes:
            with bench.client() as client:
                alone = replay(client, own)
                count = client.state().model_dump().get("step_count")
            with bench.client() as client:
                together, others = _with_a_neighbour(bench, client, neighbour, own)
                state = client.state().model_dump()
            if trajectory_difference(own, alone) is None:
                told += 1
                fault = trajectory_difference(own, together)
                if fault is None and state.get("step_count") != count:
                    fault = f"the state tells of {state.get('step_count')} steps, not {count}"
                if fault is not None:
                    return failed(f"with another session beside it, seed {own.seed} went differently: {fault}", _REMEDY)
            if state.get("episode_id") == _NEIGHBOURS_NAME:
                return failed("the state tells the name of another session's episode", _REMEDY)
            if stranger := judge_strangers(together.turns, strange_texts(own, others)):
                return failed(f"a session saw {stranger!r}, which another one said", _REMEDY)
    if told == 0:
        return skipped("texts and states did not mix; more can be told once a seed fixes an episode")
    return passed(f"{told} episodes beside another session, each as if alone")


def _with_a_neighbour(
    bench: Bench, client: RawClient, neighbour: RawClient, own: Trajectory
) -> tuple[Trajectory, Trajectory]:
    """An episode played again, while before each step a neighbour begins an episode of its own; and what that did."""
    random = Random(f"neighbour of seed {own.seed}")
    turns = [reset_turn(client, **options_of(own.seed, own.episode_id))]
    others: list[Turn] = []
    for number, action in enumerate(own.actions):
        if turns[-1].done or isinstance(turns[-1].error, SessionLostError):
            break
        seed = bench.options.seed + _NEIGHBOURS_SEED + number
        others.append(reset_turn(neighbour, **options_of(seed, _NEIGHBOURS_NAME)))
        if others[-1].observation is not None and not others[-1].done:
            turn, _ = next_turn(neighbour, bench.actions, others[-1].observation, random)
            others += [turn] if turn is not None else []
        turns.append(step_turn(client, action))
    return Trajectory(own.seed, own.episode_id, tuple(turns)), Trajectory(None, _NEIGHBOURS_NAME, tuple(others))


def _one_after_the_other(bench: Bench) -> Finding:
    own, other = bench.episodes[0], bench.episodes[-1]
    with bench.client() as client:
        replay(client, other)
    with bench.client() as client:
        turn = reset_turn(client, **options_of(own.seed, "another name"))
        told = client.state().model_dump()
    if told.get("step_count", 0) != 0 or told.get("episode_id") == other.episode_id:
        return failed(f"a new session begins with the state of the one before: {text_of(told):.100}", _REMEDY)
    if stranger := judge_strangers([turn], strange_texts(own.head(0), other)):
        return failed(f"a new session saw {stranger!r}, which the one before said", _REMEDY)
    return passed("one session at a time; the next one knows nothing of it")


def concurrency(bench: Bench) -> Finding:
    """Many sessions at once: each goes as if it were alone."""
    traits = bench.traits
    if traits is not None and not traits.concurrency_safe:
        return skipped("the class does not say that its instances may run side by side (concurrency_safe = True)")
    if bench.room == 1:
        return skipped("the server has room for one session only")
    expected = [_alone(bench, number) for number in range(bench.room)]
    played = _side_by_side(bench, expected)
    for alone, together in zip(expected, played, strict=True):
        difference = trajectory_difference(alone, together)
        if difference is not None:
            return failed(
                f"among {bench.room} sessions at once, seed {alone.seed} went differently: {difference}", _REMEDY
            )
    return passed(f"{bench.room} sessions at once, each as if alone")


def _alone(bench: Bench, number: int) -> Trajectory:
    """An episode of a seed of its own, for each session another one."""
    actions = bench.episodes[number % len(bench.episodes)]
    if number < len(bench.episodes):
        return actions
    with bench.client() as client:
        return replay(client, actions, seed=bench.options.seed + number)


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
    if isinstance(result, OpenEnvError):
        return Turn(action, error=result)
    return turn_of(action, result)  # type: ignore[arg-type]


CHECKS = (
    Check("sessions_isolated", "two sessions do not see each other", sessions_isolated, needs=("plays",)),
    Check("concurrency", "many sessions at once go as if each were alone", concurrency, needs=("seed_two_sessions",)),
)
