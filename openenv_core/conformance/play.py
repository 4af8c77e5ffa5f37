"""Episodes through a client: recorded with new actions, or replayed with recorded ones."""

from collections.abc import Callable
from random import Random
from typing import Any

from pydantic import BaseModel, ConfigDict

from openenv_core.client import EnvClient
from openenv_core.conformance.actions import ActionSource
from openenv_core.conformance.records import Trajectory, Turn, text_of
from openenv_core.errors import (
    EnvironmentFailedError,
    OpenEnvError,
    SessionLostError,
    UnsupportedOperationError,
    ValidationFailedError,
)
from openenv_core.types import StepResult

__all__ = [
    "RawClient",
    "RawObservation",
    "RawState",
    "attempt",
    "is_alive",
    "next_turn",
    "options_of",
    "record",
    "replay",
    "reset_turn",
    "step_turn",
    "turn_of",
]

_TRIES = 25
"""So many actions are tried before a state is given up in which none is legal."""

_FAILURES = 8
"""So many steps may fail in the environment's own code before an episode is given up."""


class RawObservation(BaseModel):
    """An observation exactly as it came over the wire, whatever its fields."""

    model_config = ConfigDict(extra="allow")

    reward: Any = None
    done: Any = False
    truncated: Any = False
    metadata: Any = None


class RawState(BaseModel):
    """A state exactly as it came over the wire."""

    model_config = ConfigDict(extra="allow")


class RawClient(EnvClient[dict[str, Any], RawObservation, RawState]):
    """A client that knows no models and drops nothing."""

    action_type, observation_type, state_type = dict, RawObservation, RawState


def attempt(call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, OpenEnvError | None]:
    """What a call returned, or the error that it raised."""
    try:
        return call(*args, **kwargs), None
    except OpenEnvError as error:
        return None, error


def reset_turn(client: RawClient, **options: Any) -> Turn:
    """A reset, recorded."""
    result, error = attempt(client.reset, **options)
    return Turn(error=error) if error is not None else turn_of(None, result)


def step_turn(client: RawClient, action: dict[str, Any]) -> Turn:
    """A step, recorded."""
    text = text_of(action)
    result, error = attempt(client.step, action)
    return Turn(text, error=error) if error is not None else turn_of(text, result)


def turn_of(action: str | None, result: StepResult[RawObservation]) -> Turn:
    """A step result, recorded."""
    observation = text_of(result.observation.model_dump(exclude_unset=True))
    return Turn(action, observation, result.reward, result.done, result.truncated)


def options_of(seed: int | None, episode_id: str) -> dict[str, Any]:
    """The reset options of an episode."""
    return {"episode_id": episode_id} if seed is None else {"seed": seed, "episode_id": episode_id}


def record(client: RawClient, source: ActionSource, *, seed: int, episode_id: str, steps: int) -> Trajectory:
    """Play an episode with actions from ``source``, the same for the same seed, and keep what happened.

    An action that is refused as not legal is replaced by another one. A step in which the environment's own code fails
    is kept, since nobody knows what it has done by then, and the play goes on a few times. Any other error ends it.
    """
    random = Random(f"actions for seed {seed}")
    turns = [reset_turn(client, **options_of(seed, episode_id))]
    seen, refused, failures = turns[0].observation, 0, 0
    while seen is not None and not turns[-1].done and len(turns) <= steps:
        turn, more = next_turn(client, source, seen, random)
        refused += more
        if turn is None:
            break
        turns.append(turn)
        failures += turn.error is not None
        if turn.error is not None and not (isinstance(turn.error, EnvironmentFailedError) and failures < _FAILURES):
            break
        seen = turn.observation or seen
    return Trajectory(seed, episode_id, tuple(turns), refused)


def next_turn(client: RawClient, source: ActionSource, seen: str, random: Random) -> tuple[Turn | None, int]:
    """The first action that is not refused; ``None`` where every one is. And how many were refused."""
    for refused in range(_TRIES):
        try:
            action = source.next(seen, random)
        except UnsupportedOperationError:
            return None, refused
        turn = step_turn(client, action)
        if not isinstance(turn.error, ValidationFailedError):
            return turn, refused
    return None, _TRIES


def replay(client: RawClient, played: Trajectory, *, seed: int | None = None, unseeded: bool = False) -> Trajectory:
    """Play the actions of an episode again.

    Args:
        seed: another seed than the recorded one.
        unseeded: reset without a seed.
    """
    chosen = None if unseeded else played.seed if seed is None else seed
    turns = [reset_turn(client, **options_of(chosen, played.episode_id))]
    for action in played.actions:
        if turns[-1].done or isinstance(turns[-1].error, SessionLostError) or turns[0].error is not None:
            break
        turns.append(step_turn(client, action))
    return Trajectory(chosen, played.episode_id, tuple(turns))


def is_alive(client: RawClient, session: str | None) -> str | None:
    """What is wrong with a session that has refused something: ``None`` while it goes on."""
    _, error = attempt(client.reset)
    if error is not None:
        return f"the reset after it failed: {error.message}"
    return None if client.session_id == session else "it cost the session: the next reset opened a new one"
