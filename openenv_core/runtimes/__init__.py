"""Where a server runs: a process of this machine, a container, a Space."""

from openenv_core.runtimes.docker import DockerRuntime
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.runtimes.provider import LocalDockerProvider

__all__ = ["DockerRuntime", "LocalDockerProvider", "ProcessRuntime"]
