"""The tools that come with a client, found by the name of the environment."""

import importlib
import importlib.util
import inspect
from typing import Any

from openenv_core.errors import ConfigurationError
from openenv_core.training.tool_environment import ToolEnvironment

__all__ = ["find_tools", "has_tools"]


def find_tools(package: str, name: str | None = None) -> type[ToolEnvironment[Any]]:
    """The tool environment of a client.

    Args:
        package: the client's package, for example ``textarena_env``; its module ``tools`` is looked at.
        name: of the class, or ``module:Class`` for one from elsewhere; ``None`` where there is only one.

    Raises:
        ConfigurationError: there is none, or several and no name; the message lists those that are there.
    """
    if name is not None and ":" in name:
        module, _, attribute = name.partition(":")
        return _checked(getattr(_imported(module), attribute, None), name)
    if not package:
        raise ConfigurationError(
            "the server does not tell which environment it has; name tools with --tools module:Class"
        )
    module = f"{package}.tools"
    found = {
        key: value
        for key, value in vars(_imported(module)).items()
        if inspect.isclass(value) and issubclass(value, ToolEnvironment) and value.client_type is not None
        if not key.startswith("_") and value.__module__ == module
    }
    if name is not None:
        if name not in found:
            raise ConfigurationError(f"{module} has no {name}; it has {', '.join(sorted(found)) or 'no tools'}")
        return found[name]
    if len(found) != 1:
        raise ConfigurationError(
            f"{module} has several tool environments: {', '.join(sorted(found))}; name one with --tools"
            if found
            else f"{module} has no tool environment; name one with --tools module:Class"
        )
    return next(iter(found.values()))


def has_tools(package: str) -> bool:
    """Whether a client has a module of tools."""
    try:
        return bool(package) and importlib.util.find_spec(f"{package}.tools") is not None
    except (ImportError, ValueError):
        return False


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"there are no tools in {module}: {error}; install the environment's client, or name a tool environment "
            "with --tools module:Class"
        ) from error


def _checked(found: Any, name: str) -> type[ToolEnvironment[Any]]:
    if not (inspect.isclass(found) and issubclass(found, ToolEnvironment)):
        raise ConfigurationError(f"{name} is no tool environment: a subclass of openenv_core.training.ToolEnvironment")
    return found
