"""Clients: typed and untyped, blocking and awaiting, one session or many."""

from openenv_core.client.aio import AsyncEnvClient
from openenv_core.client.batch import BatchClient
from openenv_core.client.generic import GenericAction, GenericEnvClient
from openenv_core.client.sync import EnvClient

__all__ = ["AsyncEnvClient", "BatchClient", "EnvClient", "GenericAction", "GenericEnvClient"]
