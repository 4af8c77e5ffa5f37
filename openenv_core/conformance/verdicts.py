"""Verdicts on episodes that have been played. Pure: no server, no client, no clock."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from openenv_core.conformance.records import Trajectory, Turn, texts_in, trajectory_difference
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.schemas import document_fault
from openenv_core.errors import (
    EnvironmentFailedError,
    InvalidObservationError,
    InvalidRewardError,
    OpenEnvError,
    SessionLostError,
)

__all__ = [
    "is_untyped",
    "judge_after_the_end",
    "judge_errors",
    "judge_fresh_resets",
    "judge_observations",
    "judge_play",
    "judge_repeats",
    "judge_results",
    "judge_rewards",
    "judge_seeds",
    "judge_strangers",
    "strange_texts",
]


def is_untyped(error: OpenEnvError) -> bool:
    """Whether an error says no more than that something broke."""
    if isinstance(error, InvalidObservationError | InvalidRewardError):
        return False
    return isinstance(error, EnvironmentFailedError | SessionLostError) or type(error) is OpenEnvError


def judge_play(episodes: Sequence[Trajectory], *, sampled: bool) -> Finding:
    """Whether episodes can be played at all. ``sampled``: the environment itself made the actions."""
    for episode in episodes:
        error = episode.turns[0].error
        if error is not None:
            return failed(
                f"reset(seed={episode.seed}) failed: {error.message}",
                "the traceback is in the server's log (openenv check --verbose shows it)",
            )
    steps, refused = sum(e.steps for e in episodes), sum(e.refused for e in episodes)
    if steps or all(episode.is_over for episode in episodes):
        return passed(f"{len(episodes)} episodes with {steps} steps")
    errors = [error for episode in episodes for error in episode.errors]
    if errors and not any(is_untyped(error) for error in errors):
        return passed(f"{len(episodes)} episodes; the checks of their observations and rewards tell what is wrong")
    if errors:
        return failed(f"no step went through: {errors[0].message}", "the traceback is in the server's log")
    if sampled:
        return failed(
            f"none of {refused} actions that its sample_action made was accepted",
            "let it make an action that is legal for the observation it is given",
        )
    return skipped(
        f"none of {refused} actions made from the action's schema is legal: name a sample_action in the "
        "EnvironmentSpec, or bound the action's fields, so that steps can be checked"
    )


def judge_errors(errors: Iterable[OpenEnvError]) -> Finding:
    """Whether errors say what is wrong."""
    seen = list(errors)
    for error in seen:
        if is_untyped(error):
            return failed(
                f"an action that fits its schema ended in {error.code}: {error.message}",
                "Answer an action that is not legal with openenv_core.errors.ValidationFailedError, or with an "
                "observation that says so, and let nothing else escape",
            )
    return passed(f"{len(seen)} refusals, each with a reason" if seen else "no call failed")


def judge_observations(episodes: Sequence[Trajectory], schema: Mapping[str, Any], reset: Mapping[str, Any]) -> Finding:
    """Whether observations fit the schemas: of a step's, and of a reset's."""
    seen = 0
    for where, turn in _turns(episodes):
        if isinstance(turn.error, InvalidObservationError):
            return failed(
                f"{where}: {turn.error.message}", "return the observation class with values that have a JSON form"
            )
        if turn.observation is None:
            continue
        seen += 1
        fault = document_fault(reset if turn.action is None else schema, turn.document)
        if fault is not None:
            return failed(
                f"{where}: the observation does not fit its schema: {fault}", "Correct the class or the value"
            )
    return passed(f"{seen} observations fit") if seen else skipped("no observation came")


def judge_rewards(episodes: Sequence[Trajectory]) -> Finding:
    """Whether rewards are finite numbers, or ``None``."""
    seen = 0
    for where, turn in _turns(episodes):
        if isinstance(turn.error, InvalidRewardError):
            return failed(f"{where}: {turn.error.message}", "pay a finite number, or None where there is no reward")
        if turn.reward is None:
            continue
        seen += 1
        if not isinstance(turn.reward, int | float) or not math.isfinite(turn.reward):
            return failed(
                f"{where}: the reward is {turn.reward!r}", "pay a finite number, or None where there is no reward"
            )
    return passed(f"{seen} rewards, all finite")


def judge_results(episodes: Sequence[Trajectory]) -> Finding:
    """Whether step results and their observations say the same, and make sense."""
    remedy = "Set reward, done and truncated on the observation that is returned, and nowhere else"
    seen = 0
    for where, turn in _turns(episodes):
        if turn.observation is None:
            continue
        seen += 1
        for name in ("reward", "done", "truncated"):
            inside, outside = turn.document.get(name, getattr(turn, name)), getattr(turn, name)
            if inside != outside or isinstance(inside, bool) != isinstance(outside, bool):
                return failed(f"{where}: {name} is {outside!r} in the result and {inside!r} in the observation", remedy)
        if not isinstance(turn.done, bool) or not isinstance(turn.truncated, bool):
            return failed(f"{where}: done is {turn.done!r} and truncated is {turn.truncated!r}, not booleans", remedy)
        if turn.truncated and not turn.done:
            return failed(f"{where}: the episode is truncated but not done", "an episode that is cut is done as well")
    return passed(f"{seen} results agree with their observations")


def judge_repeats(pairs: Iterable[tuple[str, Trajectory, Trajectory]], remedy: str) -> Finding:
    """Whether two plays of the same actions under the same seed are the same. Pairs come with what they are."""
    count = 0
    for what, one, other in pairs:
        count += 1
        difference = trajectory_difference(one, other)
        if difference is not None:
            return failed(f"seed {one.seed}, {what}: {difference}", remedy)
    return passed(f"{count} repetitions, all the same")


def judge_seeds(first: Trajectory, others: Iterable[Trajectory]) -> Finding | None:
    """Whether another seed gives another episode; ``None`` where none does. Takes no more episodes than it needs."""
    for count, other in enumerate(others, start=1):
        difference = trajectory_difference(first, other)
        if difference is not None:
            return passed(f"seed {other.seed} differs from seed {first.seed} ({count} tried): {difference}")
    return None


def judge_fresh_resets(resets: Sequence[Turn], actions: Iterable[Mapping[str, Any]]) -> Finding:
    """Whether the observations of resets, all under one seed and with steps in between, stay the same in size, and
    none holds a text of the actions. The first one is from a fresh session."""
    remedy = "Make everything that belongs to an episode anew in reset, above all the history"
    fresh = resets[0].document
    spoken = {text for action in actions for text in texts_in(action)}
    foreign = [text for text in spoken if text not in resets[0].observation] if resets[0].observation else []
    for number, turn in enumerate(resets[1:], start=1):
        for text in texts_in(turn.document):
            found = next((each for each in foreign if each in text), None)
            if found is not None:
                return failed(
                    f"after reset {number + 1} the observation still holds {found!r} of an earlier action", remedy
                )
    sizes = [len(turn.observation or "") for turn in resets]
    grows = [later > earlier for earlier, later in pairwise(sizes)]
    if len(grows) > 1 and all(grows):
        return failed(
            f"the observation of a reset grows from {sizes[0]} to {sizes[-1]} characters over {len(sizes)} resets",
            remedy,
        )
    return (
        passed(f"{len(resets)} resets of {min(sizes)} to {max(sizes)} characters")
        if fresh
        else skipped("no reset went through")
    )


def judge_after_the_end(turns: Sequence[Turn]) -> Finding:
    """Whether steps after the end were refused, or at least paid nothing."""
    remedy = 'Leave episode_policy = "strict", or raise openenv_core.errors.EpisodeOverError yourself'
    for turn in turns:
        if isinstance(turn.error, SessionLostError):
            return failed(f"a step after the end cost the session: {turn.error.message}", remedy)
        if turn.error is None and turn.reward:
            return failed(f"a step after the end was paid {turn.reward!r}", remedy)
        if turn.error is None and not turn.done:
            return failed("a step after the end went on as if the episode were not over", remedy)
    codes = sorted({turn.error.code if turn.error is not None else "no reward" for turn in turns})
    return passed(f"{len(turns)} steps after the end: {', '.join(codes)}")


def strange_texts(own: Trajectory, other: Trajectory) -> list[str]:
    """Texts that only the other episode's actions brought into the world."""
    known = " ".join([*(turn.observation or "" for turn in own.turns), *(turn.action or "" for turn in own.turns)])
    return [text for action in other.actions for text in texts_in(action) if text not in known]


def judge_strangers(turns: Iterable[Turn], strangers: Sequence[str]) -> str | None:
    """The first text of another session that turns up in observations."""
    seen = [text for turn in turns for text in texts_in(turn.document)]
    return next((stranger for stranger in strangers if any(stranger in text for text in seen)), None)


def _turns(episodes: Sequence[Trajectory]) -> Iterable[tuple[str, Turn]]:
    """All turns, each with where it is."""
    for episode in episodes:
        for number, turn in enumerate(episode.turns):
            yield f"seed {episode.seed}, {'reset' if number == 0 else f'step {number}'}", turn
