"""What a command is pointed at: an installed environment, a class, an application, a URL."""

import dataclasses
import importlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any
from urllib.parse import parse_qsl

from openenv_core.environment import Environment, EnvironmentSpec, traits_of
from openenv_core.errors import ConfigurationError
from openenv_core.extras import needs_extra, why_missing

__all__ = ["Target", "installed", "load_object", "load_spec", "resolve"]

_GROUP = "openenv.environments"
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Target:
    """What a target's text stands for; exactly one of the three is set.

    Attributes:
        url: the address of a running server.
        spec: an environment that can be served here.
        application: a ready ASGI application.
    """

    url: str | None = None
    spec: EnvironmentSpec | None = None
    application: Any = None


def installed() -> dict[str, EntryPoint]:
    """The installed environments by name, sorted."""
    return {entry.name: entry for entry in sorted(entry_points(group=_GROUP), key=lambda entry: entry.name)}


def load_spec(name: str) -> EnvironmentSpec:
    """The installed environment of that name.

    Raises:
        ConfigurationError: there is none, or it does not load; the message names those that are there.
    """
    found = installed()
    if name not in found:
        raise ConfigurationError(f"no environment {name!r} is installed; {_hint(name, found)}")
    try:
        spec = found[name].load()
    except ImportError as error:
        why = why_missing(error) or error
        raise ConfigurationError(f"environment {name!r} is installed but does not import: {why}") from error
    if not isinstance(spec, EnvironmentSpec):
        raise ConfigurationError(f"entry point {name!r} is a {type(spec).__name__}, not an EnvironmentSpec")
    return spec


def _hint(name: str, found: Mapping[str, EntryPoint]) -> str:
    module = name.removesuffix(".py")
    if _is_module_here(module):
        return f"what the module {module} of this folder has is called {module}:Class; gym:ID is Gymnasium's"
    if close := get_close_matches(name, found, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(close)}?"
    return f"installed are: {', '.join(found) or 'none'}; module:Class and gym:ID are served, too"


def _is_module_here(name: str) -> bool:
    return os.path.isfile(f"{name}.py") or os.path.isfile(os.path.join(name, "__init__.py"))


def load_object(path: str) -> Any:
    """The object that ``module:attribute`` names; modules of the working folder are found, too.

    Raises:
        ConfigurationError: there is none.
    """
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    module_name, _, attribute = path.partition(":")
    if not _DOTTED.fullmatch(module_name) or not _DOTTED.fullmatch(attribute):
        raise ConfigurationError(f"{path!r} cannot be loaded: an object is named module:object, my_room:Room say")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        why = why_missing(error) if isinstance(error, ImportError) else None
        raise ConfigurationError(f"{path!r} cannot be loaded: {why or error}") from error
    return found


def resolve(target: str) -> Target:
    """What ``target`` means: an address, ``gym:ID``, ``module:object``, or the name of an installed environment.

    ``gym:ID?name=value&name=value`` gives arguments for ``gymnasium.make``: JSON where a value is JSON, else text.

    Raises:
        ConfigurationError: nothing of that name is there, or it is not an environment.
    """
    if "://" in target or re.fullmatch(r"[\w.\-]+:\d+/?", target):
        return Target(url=target)
    if target.startswith("gym:"):
        return Target(spec=_spec_of_gymnasium(target))
    if ":" not in target:
        return Target(spec=load_spec(target))
    found = load_object(target)
    if isinstance(found, EnvironmentSpec):
        return Target(spec=found)
    if isinstance(found, type) and issubclass(found, Environment):
        return Target(spec=_spec_of_class(found))
    if callable(found) and not isinstance(found, type):
        return Target(application=found)
    raise ConfigurationError(f"{target!r} is a {type(found).__name__}: not an environment, a spec or an application")


def _spec_of_gymnasium(target: str) -> EnvironmentSpec:
    try:
        importlib.import_module("gymnasium")
    except ImportError as error:
        raise ConfigurationError(needs_extra(f"{target} needs", "gymnasium")) from error
    adapter = load_object("openenv_core.adapters.gymnasium:spec_from_gymnasium")
    environment_id, _, arguments = target.removeprefix("gym:").partition("?")
    spec: EnvironmentSpec = adapter(environment_id, **_arguments(arguments))
    return spec


def _spec_of_class(cls: type[Environment[Any, Any, Any]]) -> EnvironmentSpec:
    spec = EnvironmentSpec(name=cls.__name__, factory=cls, client="")
    traits = traits_of(cls)
    may_be_many = traits.concurrency_safe or traits.execution == "process"
    return spec if may_be_many else dataclasses.replace(spec, max_sessions=1)


def _arguments(query: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments
