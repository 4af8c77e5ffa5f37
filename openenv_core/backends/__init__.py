"""Where an environment object runs."""

from openenv_core.backends.base import Backend, EnvironmentCrashedError, EnvironmentHandle
from openenv_core.backends.inline import InlineBackend
from openenv_core.backends.process import ProcessBackend
from openenv_core.backends.thread import ThreadBackend

__all__ = [
    "Backend",
    "EnvironmentCrashedError",
    "EnvironmentHandle",
    "InlineBackend",
    "ProcessBackend",
    "ThreadBackend",
]
