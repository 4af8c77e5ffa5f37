"""Providers: what starts a server and knows its address."""

from openenv.core.containers.runtime.providers import LocalDockerProvider

__all__ = ["LocalDockerProvider"]
