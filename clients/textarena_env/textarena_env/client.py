"""The typed client of the TextArena environment."""

from openenv_core.client import EnvClient
from textarena_env.models import TextArenaAction, TextArenaObservation, TextArenaState

__all__ = ["TextArenaEnv"]


class TextArenaEnv(EnvClient[TextArenaAction, TextArenaObservation, TextArenaState]):
    """A TextArena game on a server."""

    action_type, observation_type, state_type = TextArenaAction, TextArenaObservation, TextArenaState
