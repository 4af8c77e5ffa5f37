"""Tools in the form that chat models are told of them."""

from collections.abc import Iterable
from typing import Any

from openenv_core.tools.declare import Tool, tools_of

__all__ = ["openai_tools"]


def openai_tools(source: type[Any] | Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools as chat templates and the chat APIs that follow OpenAI's expect them.

    Args:
        source: an environment class, or tools.
    """
    found = tools_of(source).values() if isinstance(source, type) else source
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": dict(one.input_schema)},
        }
        for one in found
    ]
