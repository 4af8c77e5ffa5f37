"""What a trainer will find on a tool class, and whether a language model can be told about it."""

import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from openenv_core.errors import ConfigurationError

__all__ = ["RESERVED", "tool_names", "tool_problems", "tool_schemas"]

RESERVED = ("reset", "get_reward")
"""Public methods that trainers call themselves."""

_ARGUMENT = re.compile(r"^\s+(\w+)\s*(?:\([^)]*\))?\s*:\s*(\S.*)")


def tool_names(cls: type[Any]) -> list[str]:
    """The names of the tools of a class, in the trainers' order: every public function found on it."""
    return [
        name
        for name, _ in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and name not in RESERVED
    ]


def tool_problems(cls: type[Any]) -> list[str]:
    """Why no schema can be made for the tools of a class, one sentence each; empty where all is well."""
    names = tool_names(cls)
    problems = [] if names else [f"{cls.__name__} has no tools: give it a public method"]
    for name in names:
        problems += [f"{cls.__name__}.{name}: {problem}" for problem in _problems(getattr(cls, name))]
    for name, value in inspect.getmembers_static(cls):
        if not name.startswith("_") and isinstance(value, classmethod | staticmethod):
            problems.append(
                f"{cls.__name__}.{name}: trainers differ in whether a class method or a static method is a tool; "
                "begin its name with an underscore, or make it a plain method"
            )
    return problems


def _problems(method: Callable[..., Any]) -> list[str]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    text = inspect.getdoc(method) or ""
    if not text:
        return ["it has no docstring, from which the model learns what it does"]
    try:
        hints = typing.get_type_hints(method)
    except (NameError, TypeError) as error:
        return [f"its type hints cannot be resolved: {error}"]
    described = _described(text)
    problems = []
    for parameter in parameters:
        if parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            problems.append(f"parameter {parameter.name!r} takes any arguments; name them")
            continue
        if parameter.name not in hints:
            problems.append(f"parameter {parameter.name!r} has no type hint")
        if parameter.name not in described:
            problems.append(f"parameter {parameter.name!r} is not described under 'Args:' in the docstring")
    return problems


def _described(docstring: str) -> dict[str, str]:
    """The parameters that a Google docstring describes, with the first line of what it says."""
    _, _, section = docstring.partition("Args:")
    found = {}
    for line in section.splitlines()[1:]:
        if line and not line[0].isspace():
            break
        match = _ARGUMENT.match(line)
        if match is not None:
            found[match[1]] = match[2]
    return found


def tool_schemas(cls: type[Any]) -> list[dict[str, Any]]:
    """The tools of a class in the form that OpenAI-compatible APIs take.

    Raises:
        ConfigurationError: no schema can be made for a tool.
    """
    problems = tool_problems(cls)
    if problems:
        raise ConfigurationError("; ".join(problems), problems=problems)
    return [{"type": "function", "function": _schema(getattr(cls, name))} for name in tool_names(cls)]


def _schema(method: Callable[..., Any]) -> dict[str, Any]:
    text, hints = inspect.getdoc(method) or "", typing.get_type_hints(method)
    described, properties, required = _described(text), {}, []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        properties[name] = {**TypeAdapter(hints[name]).json_schema(), "description": described[name]}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"name": method.__name__, "description": text.partition("\n\n")[0], "parameters": parameters}
