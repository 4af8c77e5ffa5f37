"""The commands' name for :mod:`openenv_core.targets`, which the tiers below the commands need as well."""

from openenv_core.targets import Target, installed, load_object, load_spec, resolve

__all__ = ["Target", "installed", "load_object", "load_spec", "resolve"]
