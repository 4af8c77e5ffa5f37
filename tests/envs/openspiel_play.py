"""Playing episodes of the OpenSpiel environment, for its tests."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyspiel  # type: ignore[import-untyped,import-not-found,unused-ignore]

from openspiel_env import OpenSpielAction, OpenSpielObservation
from openspiel_env_server import OpenSpielEnvironment

__all__ = ["NAMED", "act", "along", "play", "replay", "state_of"]

NAMED = ("catch", "tic_tac_toe", "kuhn_poker", "cliff_walking", "2048", "blackjack")


def act(environment: OpenSpielEnvironment, action: int) -> OpenSpielObservation:
    """One step."""
    return environment.step(OpenSpielAction(action_id=action))


def play(environment: OpenSpielEnvironment, seed: int, **options: Any) -> tuple[list[OpenSpielObservation], list[int]]:
    """One episode of random legal actions: the observations, the reset's first, and the actions."""
    choose = random.Random(seed)
    observations, actions = [environment.reset(seed=seed, **options)], []
    while not observations[-1].done:
        actions.append(choose.choice(observations[-1].legal_actions))
        observations.append(act(environment, actions[-1]))
    return observations, actions


def replay(environment: OpenSpielEnvironment, seed: int, actions: Sequence[int], **options: Any) -> list[str]:
    """The JSON of every observation of an episode with these actions."""
    observations = [environment.reset(seed=seed, **options)]
    observations += [act(environment, action) for action in actions]
    return [observation.model_dump_json() for observation in observations]


def along(game_name: str, history: Iterable[int]) -> Iterator[Any]:
    """The library's own states along a history, the first included."""
    state = pyspiel.load_game(game_name).new_initial_state()
    yield state
    for action in history:
        state.apply_action(action)
        yield state


def state_of(environment: OpenSpielEnvironment) -> Any:
    """The library's own state, which never leaves the server."""
    match, _ = environment._table()
    return match.state
