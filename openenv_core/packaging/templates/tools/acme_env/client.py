"""The typed client of the acme environment."""

from openenv_core import EnvClient
from openenv_core.tools import CallToolAction, ListToolsAction

from acme_env.models import AcmeAction, AcmeObservation, AcmeState

__all__ = ["AcmeEnv"]


class AcmeEnv(EnvClient[CallToolAction | ListToolsAction, AcmeObservation, AcmeState]):
    """An acme environment on a server."""

    action_type, observation_type, state_type = AcmeAction, AcmeObservation, AcmeState
