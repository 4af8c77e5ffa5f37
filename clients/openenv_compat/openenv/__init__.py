"""Import paths of the public package, provided by OpenEnv Core."""

from openenv_core import AutoAction, AutoEnv, GenericAction, GenericEnvClient

__all__ = ["AutoAction", "AutoEnv", "GenericAction", "GenericEnvClient"]
