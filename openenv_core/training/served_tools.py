"""A tool environment made from the tools that a server offers, for environments whose actions are calls of tools."""

import inspect
import keyword
from collections.abc import Mapping
from typing import Any, Literal

from openenv_core.client import GenericEnvClient
from openenv_core.errors import ConfigurationError, OpenEnvError
from openenv_core.training.schemas import RESERVED
from openenv_core.training.tool_environment import ToolEnvironment

__all__ = ["ServedTools", "served_tools"]

_TYPES: dict[Any, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


class ServedTools(ToolEnvironment[GenericEnvClient]):
    """The tools of a server; :func:`served_tools` makes a subclass with a method for each."""

    client_type = GenericEnvClient

    def _call_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        result = self._step({"type": "call_tool", "tool_name": name, "arguments": dict(arguments)})
        error, value = result.observation.get("error"), result.observation.get("result") or {}
        if error is not None or value.get("is_error"):
            self.episode.invalid_actions += 1
        if error is not None:
            return f"error: {error.get('message', error)}"
        told = [_text(block) for block in value.get("content") or ()]
        return "\n".join(told) or "(nothing)"


def _text(block: Mapping[str, Any]) -> str:
    return str(block["text"]) if block.get("type") == "text" else f"({block.get('type', 'something else')})"


def served_tools(base_url: str, *, token: str | None = None) -> type[ServedTools]:
    """A tool environment with the tools that a server offers; it is asked for them in a session of its own.

    Args:
        base_url: the server.
        token: where it wants one.

    Raises:
        ConfigurationError: it offers no tools, or one whose name cannot be a method's.
        ConnectionFailedError, UnauthorizedError, CapacityReachedError: no session was opened.
    """
    with GenericEnvClient(base_url=base_url, token=token) as client:
        try:
            client.reset()
            listed = client.step({"type": "list_tools"}).observation.get("tools")
        except (ConnectionError, ConfigurationError):
            raise
        except OpenEnvError as error:
            raise ConfigurationError(f"{base_url} offers no tools ({error.message}); name some with --tools") from error
    if not listed:
        raise ConfigurationError(f"{base_url} offers no tools; name some with --tools")
    made: type[ServedTools] = type("ServedTools", (ServedTools,), {tool["name"]: _method(tool) for tool in listed})
    return made


def _method(tool: Mapping[str, Any]) -> Any:
    """A method that calls a tool; signature, type hints and docstring say what the tool's schema says."""
    name, schema = tool["name"], tool.get("input_schema") or {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for word in (name, *properties):
        if not word.isidentifier() or keyword.iskeyword(word) or word.startswith("_") or word in RESERVED:
            raise ConfigurationError(f"the tool {name!r} cannot be a method: {word!r} is no name for it")

    def call(self: ServedTools, **arguments: Any) -> str:
        return self._call_tool(name, arguments)

    hints = {key: _hint(value) for key, value in properties.items()}
    required = schema.get("required") or ()
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)] + [
        inspect.Parameter(key, kind, annotation=hint, default=_default(properties[key], key in required))
        for key, hint in hints.items()
    ]
    described = [f"    {key}: {value.get('description') or f'The {key}.'}" for key, value in properties.items()]
    call.__name__ = call.__qualname__ = name
    call.__annotations__ = {**hints, "return": str}
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    call.__doc__ = "\n".join([tool.get("description") or name, *(["", "Args:", *described] if described else [])])
    return call


def _hint(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return Literal[tuple(schema["enum"])]
    kind = schema.get("type")
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _default(schema: Mapping[str, Any], is_required: bool) -> Any:
    return inspect.Parameter.empty if is_required else schema.get("default")
