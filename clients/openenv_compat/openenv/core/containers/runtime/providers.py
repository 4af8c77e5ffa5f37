"""Where the public package has its providers."""

from openenv_core.runtimes import LocalDockerProvider

__all__ = ["LocalDockerProvider"]
