"""Clients without models: actions, observations and states are plain dicts."""

from typing import Any

from openenv_core.client.sync import EnvClient

__all__ = ["GenericAction", "GenericEnvClient"]


class GenericAction(dict[str, Any]):
    """An action as a dict: ``GenericAction(message="hi")``."""


class GenericEnvClient(EnvClient[Any, dict[str, Any], dict[str, Any]]):
    """A client for an environment whose models are not at hand.

    An action is a dict, a model, or an object whose attributes are its fields. ``observation`` is a dict without
    ``reward`` and ``done``, which the step result carries.
    """

    action_type, observation_type, state_type = dict, dict, dict
