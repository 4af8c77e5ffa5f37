"""The typed client of the OpenSpiel environment."""

from openenv_core.client import EnvClient
from openspiel_env.models import OpenSpielAction, OpenSpielObservation, OpenSpielState

__all__ = ["OpenSpielEnv"]


class OpenSpielEnv(EnvClient[OpenSpielAction, OpenSpielObservation, OpenSpielState]):
    """A game of OpenSpiel on a server.

    ``reset`` takes the options ``game_name``, ``game_params``, ``opponent_policy`` and ``agent_player``, each for one
    episode; what is not given is as the server was started.
    """

    action_type, observation_type, state_type = OpenSpielAction, OpenSpielObservation, OpenSpielState
