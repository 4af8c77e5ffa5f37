"""Google-style docstrings: what a function does, and what its parameters mean."""

import inspect
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["Docstring", "read_docstring"]

_SECTION = re.compile(r"^(args|arguments|parameters|returns?|yields?|raises|examples?|notes?|attributes)\s*:\s*$", re.I)
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


class Docstring(NamedTuple):
    """The text before the first section, and the descriptions of the parameters by name."""

    description: str
    parameters: dict[str, str]


def read_docstring(function: Callable[..., Any]) -> Docstring:
    """What the docstring of a function says; nothing where it has none."""
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    starts = [at for at, line in enumerate(lines) if _SECTION.match(line)]
    description = "\n".join(lines[: starts[0]] if starts else lines).strip()
    parameters: dict[str, str] = {}
    for start, end in pairwise([*starts, len(lines)]):
        if lines[start].lower().startswith(("args", "arguments", "parameters")):
            parameters |= _parameters(lines[start + 1 : end])
    return Docstring(description, parameters)


def _parameters(lines: list[str]) -> dict[str, str]:
    filled = [line for line in lines if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    found: dict[str, list[str]] = {}
    name = ""
    for line in filled:
        match = _PARAMETER.match(line[indent:])
        if match is not None:
            name = match[1]
            found[name] = [match[2]]
        elif name:
            found[name].append(line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}
