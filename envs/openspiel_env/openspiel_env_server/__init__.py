"""Server of the OpenSpiel environment."""

from random import Random

from openenv_core.environment import EnvironmentSpec
from openspiel_env.models import OpenSpielAction, OpenSpielObservation
from openspiel_env_server.environment import OpenSpielEnvironment

__all__ = ["OpenSpielEnvironment", "spec"]

_VARIANTS = ("catch", "tic_tac_toe", "kuhn_poker", "cliff_walking", "2048", "blackjack")


def _sample_action(observation: OpenSpielObservation, random: Random) -> OpenSpielAction:
    return OpenSpielAction(action_id=random.choice(observation.legal_actions))


spec = EnvironmentSpec(
    name="openspiel_env",
    factory=OpenSpielEnvironment,
    client="openspiel_env:OpenSpielEnv",
    description="Turn-based games of OpenSpiel: catch, tic-tac-toe, poker, cliff walking, 2048, blackjack and more.",
    demo="openspiel_env_server.demo:play",
    sample_action=_sample_action,
    variants={game: {"OPENSPIEL_GAME": game} for game in _VARIANTS},
)
