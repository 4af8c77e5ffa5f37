"""OpenEnv Core: reinforcement-learning environments for language-model agents, behind WebSocket sessions.

What an author and a user of an environment need is here. Importing it loads the blocking client alone: ``create_app``
and its configuration load FastAPI at their first use, and the awaiting client loads asyncio.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0.dev0"

try:
    from openenv_core.client import BatchClient, EnvClient, GenericAction, GenericEnvClient
    from openenv_core.environment import Environment, EnvironmentSpec
    from openenv_core.errors import (
        CallTimeoutError,
        CapacityReachedError,
        ConfigurationError,
        ConnectionFailedError,
        EnvironmentFailedError,
        EpisodeNotStartedError,
        EpisodeOverError,
        LossReason,
        OpenEnvError,
        ProtocolError,
        SessionLostError,
        UnknownResetOptionError,
        ValidationFailedError,
    )
    from openenv_core.extras import why_missing
    from openenv_core.settings import ServerSettings
    from openenv_core.types import Action, EnvironmentMetadata, Image, Observation, State, StepResult
except KeyboardInterrupt:
    # Most of the time that the command takes to start is spent here, before any code of its own runs.
    if os.path.basename(sys.argv[0]).partition(".")[0] == "openenv":
        sys.exit(130)
    raise

if TYPE_CHECKING:
    from openenv_core.client import AsyncEnvClient
    from openenv_core.client.auto import AutoAction, AutoEnv
    from openenv_core.server import ConcurrencyConfig, create_app, create_app_from_spec

__all__ = [
    "Action",
    "AsyncEnvClient",
    "AutoAction",
    "AutoEnv",
    "BatchClient",
    "CallTimeoutError",
    "CapacityReachedError",
    "ConcurrencyConfig",
    "ConfigurationError",
    "ConnectionFailedError",
    "EnvClient",
    "Environment",
    "EnvironmentFailedError",
    "EnvironmentMetadata",
    "EnvironmentSpec",
    "EpisodeNotStartedError",
    "EpisodeOverError",
    "GenericAction",
    "GenericEnvClient",
    "Image",
    "LossReason",
    "Observation",
    "OpenEnvError",
    "ProtocolError",
    "ServerSettings",
    "SessionLostError",
    "State",
    "StepResult",
    "UnknownResetOptionError",
    "ValidationFailedError",
    "create_app",
    "create_app_from_spec",
]

_LOADED_AT_FIRST_USE = {
    "AsyncEnvClient": "openenv_core.client.aio",
    "AutoAction": "openenv_core.client.auto",
    "AutoEnv": "openenv_core.client.auto",
    "ConcurrencyConfig": "openenv_core.server",
    "create_app": "openenv_core.server",
    "create_app_from_spec": "openenv_core.server",
}


def __getattr__(name: str) -> Any:
    if name in _LOADED_AT_FIRST_USE:
        try:
            module = importlib.import_module(_LOADED_AT_FIRST_USE[name])
        except ImportError as error:
            why = why_missing(error)
            if why is None:
                raise
            raise ImportError(f"{name} cannot be loaded: {why}", name=error.name) from error
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
