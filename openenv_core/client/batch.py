"""Many sessions stepped together."""

import contextlib
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar, overload

from openenv_core.client._base import ClientBase
from openenv_core.client._flow import ConnectionGoneError, SessionFlow, backoff
from openenv_core.client.sync import EnvClient, _Driver
from openenv_core.errors import (
    CallTimeoutError,
    ConfigurationError,
    ConnectionFailedError,
    LossReason,
    OpenEnvError,
    SessionLostError,
)
from openenv_core.types import StepResult
from openenv_core.wire.calls import Answer, Calls, Event, Greeting, Loss, Opened
from openenv_core.wire.codec import join_frames

__all__ = ["BatchClient"]
