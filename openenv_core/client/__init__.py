"""Clients: typed and untyped, blocking and awaiting, one session or many.

Blocking code never needs asyncio: the awaiting client is imported at its first use.
"""

from typing import TYPE_CHECKING, Any

from openenv_core.client.batch import BatchClient
from openenv_core.client.generic import GenericAction, GenericEnvClient
from openenv_core.client.sync import EnvClient

if TYPE_CHECKING:
    from openenv_core.client.aio import AsyncEnvClient

__all__ = ["AsyncEnvClient", "BatchClient", "EnvClient", "GenericAction", "GenericEnvClient"]


def __getattr__(name: str) -> Any:
    if name == "AsyncEnvClient":
        from openenv_core.client.aio import AsyncEnvClient

        return AsyncEnvClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
