"""Server of the OpenSpiel environment."""

from random import Random

from openenv_core.environment import EnvironmentSpec
from openspiel_env.models import OpenSpielAction, OpenSpielObservation
from openspiel_env_server.environment import OpenSpielEnvironment
from openspiel_env_server.settings import OpenSpielSettings

__all__ = ["OpenSpielEnvironment", "spec"]

_VARIANTS = ("catch", "tic_tac_toe", "kuhn_poker", "cliff_walking", "2048", "blackjack")


def _sample_action(observation: OpenSpielObservation, random: Random) -> OpenSpielAction:
    return OpenSpielAction(action_id=random.choice(observation.legal_actions))


def _variables() -> dict[str, str]:
    return {variable: meaning for _, variable, _, meaning in OpenSpielSettings.table()}


spec = EnvironmentSpec(
    name="openspiel_env",
    factory=OpenSpielEnvironment,
    client="openspiel_env:OpenSpielEnv",
    description="Turn-based games of OpenSpiel: catch, tic-tac-toe, poker, cliff walking, 2048, blackjack and more.",
    demo="openspiel_env_server.demo:play",
    sample_action=_sample_action,
    example_action={"action_id": 1},
    tools="openspiel_env.tools:CatchTools",
    variants={game: {"OPENSPIEL_GAME": game} for game in _VARIANTS},
    variables=_variables(),
    games="openspiel_env_server.offers:offered_games",
    check=OpenSpielSettings.from_environ,
)
