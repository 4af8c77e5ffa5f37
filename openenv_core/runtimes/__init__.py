"""Where a server runs: a process of this machine, a container, a Space."""

from openenv_core.runtimes.process import ProcessRuntime

__all__ = ["ProcessRuntime"]
