"""What an episode looks like from outside: results, observations, rewards, the end, names and states."""

from collections.abc import Iterator
from random import Random
from typing import Any

from pydantic import TypeAdapter

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.play import (
    RawClient,
    attempt,
    is_alive,
    next_turn,
    options_of,
    record,
    replay,
    reset_turn,
    step_turn,
)
from openenv_core.conformance.records import Trajectory, Turn, document_difference, text_of
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.schemas import document_fault
from openenv_core.conformance.verdicts import (
    is_untyped,
    judge_after_the_end,
    judge_errors,
    judge_fresh_resets,
    judge_observations,
    judge_play,
    judge_results,
    judge_rewards,
)
from openenv_core.errors import (
    EpisodeNotStartedError,
    EpisodeOverError,
    UnsupportedOperationError,
    ValidationFailedError,
)
from openenv_core.wire.values import model_json, parse_json

__all__ = ["CHECKS"]

_RESETS = 10
_A_FEW_STEPS = 5
_TRIED_ACTIONS = 30


def plays(bench: Bench) -> Finding:
    """Episodes can be played."""
    return judge_play(bench.episodes, sampled=bench.actions.is_own)


def observation_schema(bench: Bench) -> Finding:
    """Every observation fits the schema that the server advertises."""
    observation = bench.schemas["observation"]
    return judge_observations(bench.episodes, observation, bench.schemas.get("reset_observation") or observation)


def reward_finite(bench: Bench) -> Finding:
    """Every reward is a finite number or ``None``."""
    return judge_rewards(bench.episodes)


def result_agrees(bench: Bench) -> Finding:
    """Reward, done and truncated of a result are those of its observation, also for a client with models."""
    finding = judge_results(bench.episodes)
    if bench.subject.spec is None:
        return finding
    played = bench.episodes[0]
    with bench.typed_client() as client:
        turns = [_typed_turn(client.reset(**options_of(played.seed, played.episode_id)))]
        for action in played.actions:
            if turns[-1].done:
                break
            result, error = attempt(client.step, action)
            turns.append(Turn(text_of(action), error=error) if error is not None else _typed_turn(result, action))
    typed = judge_results([Trajectory(played.seed, played.episode_id, tuple(turns))])
    return finding if typed.verdict == "pass" else typed


def _typed_turn(result: Any, action: dict[str, Any] | None = None) -> Turn:
    inside = {name: getattr(result.observation, name, None) for name in ("reward", "done", "truncated")}
    observation = text_of({name: value for name, value in inside.items() if hasattr(result.observation, name)})
    return Turn(None if action is None else text_of(action), observation, result.reward, result.done, result.truncated)


def errors_typed(bench: Bench) -> Finding:
    """An action that fits its schema is done, or refused with a reason; it never ends in a bare failure."""
    errors = [error for episode in bench.episodes for error in episode.errors]
    random = Random(f"any action for seed {bench.options.seed}")
    with bench.client() as client:
        turn = reset_turn(client, **options_of(bench.options.seed, "check-errors"))
        for _ in range(_TRIED_ACTIONS):
            if turn.done or (turn.error is not None and is_untyped(turn.error)):
                turn = reset_turn(client, **options_of(bench.options.seed, "check-errors"))
            try:
                action = bench.actions.from_schema(random)
            except UnsupportedOperationError:
                break
            turn = step_turn(client, action)
            errors += [turn.error] if turn.error is not None else []
    return judge_errors(error for error in errors if not isinstance(error, EpisodeOverError))


def reset_is_clean(bench: Bench) -> Finding:
    """A reset keeps nothing of the last episode."""
    played = bench.episodes[0].head(_A_FEW_STEPS)
    resets: list[Turn] = []
    with bench.client() as client:
        for _ in range(_RESETS):
            resets.append(replay(client, played).turns[0])
            if resets[-1].error is not None:
                raise resets[-1].error
    return judge_fresh_resets(resets, played.actions)


def step_before_reset(bench: Bench) -> Finding:
    """A step before the first reset is refused, or starts an episode; it does not break."""
    action = bench.episodes[0].legal_action
    if action is None:
        return skipped("no legal action is known")
    with bench.client() as client:
        session = client.session_id
        turn = step_turn(client, action)
        if turn.error is not None and not isinstance(turn.error, EpisodeNotStartedError | ValidationFailedError):
            return failed(
                f"a step before reset ended in {turn.error.code}: {turn.error.message}",
                "Leave episode_policy = 'strict', which refuses it, or set in __init__ what step needs",
            )
        fault = is_alive(client, session)
    if fault is not None:
        return failed(f"a step came before reset, and {fault}", "a refused step must leave the session as it was")
    return passed("an episode starts by itself" if turn.error is None else "refused; the session lives")


def state_before_reset(bench: Bench) -> Finding:
    """The state can be read before the first reset, or says that there is none yet."""
    with bench.client() as client:
        session = client.session_id
        _, error = attempt(client.state)
        if error is not None and not isinstance(error, EpisodeNotStartedError):
            return failed(
                f"reading the state before reset ended in {error.code}: {error.message}",
                "set in __init__ what the state needs",
            )
        fault = is_alive(client, session)
    if fault is not None:
        return failed(f"the state was read before reset, and {fault}", "reading the state must change nothing")
    return passed("readable" if error is None else "refused; the session lives")


def step_after_done(bench: Bench) -> Finding:
    """A step after the end is refused; at the least it pays nothing."""
    ended = next((episode for episode in bench.episodes if episode.is_over and episode.actions), None)
    if ended is None:
        return skipped(f"no episode ended within {bench.options.steps} steps: --steps N plays longer ones")
    with bench.client() as client:
        session = client.session_id
        again = record(
            client, bench.actions, seed=ended.seed or 0, episode_id=ended.episode_id, steps=bench.options.steps
        )
        if not again.is_over:
            return skipped("the episode did not end when it was played again")
        turns = [step_turn(client, ended.actions[-1]) for _ in range(2)]
        finding = judge_after_the_end(turns)
        fault = is_alive(client, session)
    if finding.verdict == "pass" and fault is not None:
        return failed(f"steps came after the end, and {fault}", "a refused step must leave the session as it was")
    return finding


def episode_id(bench: Bench) -> Finding:
    """The state tells the episode's name: the one that reset was given, or a new one."""
    traits = bench.traits
    if traits is not None and traits.lenient and "episode_id" not in traits.reset_options.names:
        return skipped("its reset takes no episode_id")
    told: list[Any] = []
    with bench.client() as client:
        for options in ({"episode_id": "first name"}, {"episode_id": "second name"}, {}):
            client.reset(seed=bench.options.seed, **options)
            told.append(client.state().model_dump().get("episode_id"))
    remedy = "Take episode_id in reset, and tell it in the state"
    if told[:2] != ["first name", "second name"]:
        return failed(
            f"reset was given 'first name', then 'second name'; the state told {told[0]!r}, {told[1]!r}", remedy
        )
    if told[2] == told[1]:
        return failed("an episode that was given no name kept the name of the one before", remedy)
    return passed("told as given, and new where none is given")


def state(bench: Bench) -> Finding:
    """The state fits its schema, counts steps, and survives the way through its model."""
    with bench.client() as client:
        seen = list(_states(bench, client))
    for count, document in enumerate(seen):
        fault = document_fault(bench.schemas["state"], document)
        if fault is not None:
            return failed(
                f"after step {count} the state does not fit its schema: {fault}", "Correct the class or the value"
            )
        if document.get("step_count", count) != count:
            return failed(
                f"after {count} steps the state's step_count is {document['step_count']!r}",
                "Set it to 0 in reset and add 1 in step, or leave the property state to the framework",
            )
        if fault := _state_loss(bench, document):
            return failed(
                fault, "A state must be the same after a way through JSON: look at its serializers and validators"
            )
    return passed(f"{len(seen)} states fit")


def _states(bench: Bench, client: RawClient) -> Iterator[dict[str, Any]]:
    """The state after a reset, and after each of a few steps."""
    random = Random(f"states for seed {bench.options.seed}")
    turn: Turn | None = reset_turn(client, **options_of(bench.options.seed, "check-state"))
    for _ in range(_A_FEW_STEPS):
        if turn is None or turn.error is not None:
            return
        yield client.state().model_dump()
        if turn.done:
            return
        turn, _ = next_turn(client, bench.actions, turn.observation or "{}", random)


def _state_loss(bench: Bench, document: dict[str, Any]) -> str | None:
    """What a state loses on its way through the model."""
    if bench.subject.spec is None:
        return None
    model = TypeAdapter(bench.subject.spec.state_type).validate_json(text_of(document))
    difference = document_difference(document, parse_json(model_json(model)))
    return f"the state changes on its way through its model: {difference}" if difference else None


CHECKS = (
    Check("plays", "episodes can be played", plays),
    Check("observation_schema", "every observation fits its schema", observation_schema),
    Check("reward_finite", "every reward is a finite number or None", reward_finite),
    Check(
        "result_agrees", "a result says what its observation says", result_agrees, needs=("plays", "observation_schema")
    ),
    Check("errors_typed", "an action that cannot be done is refused with a reason", errors_typed, needs=("plays",)),
    Check("reset_is_clean", "a reset keeps nothing of the last episode", reset_is_clean, needs=("plays",)),
    Check(
        "step_before_reset", "a step before reset is refused, or starts an episode", step_before_reset, needs=("plays",)
    ),
    Check("state_before_reset", "the state before reset does no harm", state_before_reset, needs=("plays",)),
    Check(
        "step_after_done", "a step after the end is refused, or at least not paid", step_after_done, needs=("plays",)
    ),
    Check("episode_id", "the state tells the episode's name", episode_id, needs=("plays",)),
    Check("state", "the state fits its schema and counts steps", state, needs=("plays",)),
)
