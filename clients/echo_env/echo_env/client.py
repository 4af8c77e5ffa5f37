"""The typed client of the echo environment."""

from echo_env.models import EchoAction, EchoObservation, EchoState
from openenv_core.client import EnvClient

__all__ = ["EchoEnv"]


class EchoEnv(EnvClient[EchoAction, EchoObservation, EchoState]):
    """An echo environment on a server."""

    action_type, observation_type, state_type = EchoAction, EchoObservation, EchoState
