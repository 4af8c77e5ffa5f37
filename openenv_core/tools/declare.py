"""Declaring a tool: ``@tool`` on a method, whose signature and docstring say the rest."""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from openenv_core.errors import ConfigurationError
from openenv_core.tools.actions import ToolDescription
from openenv_core.tools.docstrings import read_docstring
from openenv_core.types import Image

__all__ = ["Tool", "tool", "tools_of"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_MARK = "__openenv_tool__"
_RESERVED = frozenset({"reset", "step", "state", "close"})
"""What an agent must not mistake for a tool: the public protocol refuses these names, too."""

WRAP_KEY = "x-fastmcp-wrap-result"
"""Marks a schema of ``{"result": value}``: MCP knows only objects as structured results. Clients of the public package
take the value out by this mark."""


@dataclass(frozen=True)
class Tool:
    """A method that an agent may call.

    Attributes:
        name: by which it is called.
        method: the method's own name.
        description: the docstring up to its sections; ``""`` without one.
        arguments: a model of the arguments.
        input_schema: their JSON schema, each with its description.
        output_schema: the JSON schema of a structured result; ``None`` where the method does not say what it returns.
        wraps: results are wrapped as ``{"result": value}``, since the declared type is no object.
        timeout_s: an ``async`` method may take so long.
    """

    name: str
    method: str
    description: str
    arguments: type[BaseModel]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    timeout_s: float | None = None

    @property
    def described(self) -> ToolDescription:
        """As an agent sees it."""
        return ToolDescription(name=self.name, description=self.description, input_schema=dict(self.input_schema))

    def keywords(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Typed keyword arguments for the method.

        Raises:
            pydantic.ValidationError: one is missing, unknown or does not fit its annotation.
        """
        checked = self.arguments.model_validate(arguments)
        fields = self.arguments.model_fields
        return {str(fields[name].alias): getattr(checked, name) for name in checked.model_fields_set}


@overload
def tool(function: FunctionT, /) -> FunctionT: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, timeout_s: float | None = None
) -> Callable[[FunctionT], FunctionT]: ...


def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_s: float | None = None,
) -> Any:
    """Make a method of a :class:`~openenv_core.tools.EnvironmentWithTools` a tool.

    The types of its arguments come from the annotations, their descriptions from the docstring (Google style) or from
    ``Annotated[…, Field(description=…)]``.

    Args:
        name: another name than the method's.
        description: another than the docstring's.
        timeout_s: an ``async`` tool fails after so many seconds; the step deadline holds for all.
    """
    if function is None:
        return functools.partial(_mark, name=name, description=description, timeout_s=timeout_s)
    return _mark(function)


def _mark(
    function: Any, *, name: str | None = None, description: str | None = None, timeout_s: float | None = None
) -> Any:
    if not inspect.isfunction(function):
        raise ConfigurationError(f"@tool belongs on a method, not on {function!r}")
    if timeout_s is not None and not inspect.iscoroutinefunction(function):
        raise ConfigurationError(
            f"tool {function.__name__!r} has a timeout_s but is not async def: nothing can interrupt it. Set "
            "step_deadline_s on the environment, or make it async"
        )
    setattr(function, _MARK, (name or function.__name__, description, timeout_s))
    return function


def tools_of(cls: type[Any]) -> Mapping[str, Tool]:
    """The tools of an environment class by name, in the order of their declaration; those of base classes first.

    Raises:
        ConfigurationError: two have one name, a name is reserved, or an annotation has no JSON schema.
    """
    key: Any = cls
    return _read_tools(key)


@functools.lru_cache(maxsize=256)
def _read_tools(cls: Any) -> Mapping[str, Tool]:
    methods = dict.fromkeys(name for klass in reversed(cls.__mro__) for name in vars(klass))
    found: dict[str, Tool] = {}
    for method in methods:
        function = inspect.getattr_static(cls, method, None)
        mark = getattr(function, _MARK, None) if inspect.isfunction(function) else None
        if mark is None:
            continue
        made = _make(method, function, *mark)
        if made.name in _RESERVED:
            raise ConfigurationError(f"{cls.__name__}: a tool must not be called {made.name!r}; give it another name=")
        if made.name in found:
            raise ConfigurationError(f"{cls.__name__}: two tools are called {made.name!r}; give one another name=")
        found[made.name] = made
    return found


def _make(method: str, function: Any, name: str, description: str | None, timeout_s: float | None) -> Tool:
    told = read_docstring(function)
    hints = typing.get_type_hints(function, include_extras=True)
    try:
        arguments = _arguments(name, function, hints, told.parameters)
        return Tool(
            name=name,
            method=method,
            description=told.description if description is None else description,
            arguments=arguments,
            input_schema=_plain_schema(arguments.model_json_schema()),
            output_schema=_output_schema(hints.get("return")),
            timeout_s=timeout_s,
        )
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        raise ConfigurationError(f"tool {name!r}: an annotation has no JSON schema: {error}") from error


def _arguments(name: str, function: Any, hints: Mapping[str, Any], told: Mapping[str, str]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    field: Any = Field
    for at, parameter in enumerate(list(inspect.signature(function).parameters.values())[1:]):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(f"tool {name!r}: {parameter} has no name by which an agent could give it")
        default = ... if parameter.default is parameter.empty else parameter.default
        described = {"description": told[parameter.name]} if parameter.name in told else {}
        # By alias: an argument may have any name, also one that a model has for something of its own.
        told_as = field(default=default, alias=parameter.name, **described)
        fields[f"argument_{at}"] = (hints.get(parameter.name, Any), told_as)
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())
    return create_model(f"call[{name}]", __config__=config, **fields)


def _output_schema(returned: Any) -> Mapping[str, Any] | None:
    if returned in (None, Any, type(None), Image):
        return None
    schema: dict[str, Any] = _plain_schema(TypeAdapter(returned).json_schema(mode="serialization"))
    if schema.get("type") == "object":
        return schema
    definitions = schema.pop("$defs", None)
    wrapped: dict[str, Any] = {"properties": {"result": schema}, "required": ["result"], "type": "object"}
    return {**({"$defs": definitions} if definitions else {}), **wrapped, WRAP_KEY: True}


def _plain_schema(schema: Any) -> Any:
    """The same schema without the titles that pydantic makes up."""
    if isinstance(schema, list):
        return [_plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain_schema(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    if "properties" in schema and isinstance(schema["properties"], dict):
        plain["properties"] = {name: _plain_schema(value) for name, value in schema["properties"].items()}
    return plain
