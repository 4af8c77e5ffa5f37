"""The typed client of the browser environment."""

from browsergym_env.models import BrowserGymAction, BrowserGymObservation, BrowserGymState
from openenv_core.client import EnvClient

__all__ = ["BrowserGymEnv"]


class BrowserGymEnv(EnvClient[BrowserGymAction, BrowserGymObservation, BrowserGymState]):
    """A browser on a server, with a task to do in it.

    ``reset`` takes the options ``task_name``, ``observe`` and ``max_steps``, each for one episode; what is not given is
    as the server was started.
    """

    action_type, observation_type, state_type = BrowserGymAction, BrowserGymObservation, BrowserGymState
