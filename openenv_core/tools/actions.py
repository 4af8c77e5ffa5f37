"""Calling tools as actions, in the shapes of the public protocol."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, WrapValidator

from openenv_core.types import Action, Observation

__all__ = [
    "CallToolAction",
    "CallToolObservation",
    "ListToolsAction",
    "ListToolsObservation",
    "ToolAction",
    "ToolDescription",
    "ToolError",
    "ToolObservation",
    "ToolResult",
    "with_tool_actions",
]


class ListToolsAction(Action):
    """Ask which tools there are."""

    type: Literal["list_tools"] = "list_tools"


class CallToolAction(Action):
    """Call a tool.

    Attributes:
        tool_name: its name.
        arguments: its arguments, by name.
    """

    type: Literal["call_tool"] = "call_tool"
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolDescription(BaseModel):
    """A tool as an agent sees it. ``input_schema`` is a JSON schema of its arguments."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=dict)


class ListToolsObservation(Observation):
    """The tools of the environment."""

    tools: list[ToolDescription]


class ToolResult(BaseModel):
    """What a tool returned.

    Attributes:
        content: for a language model: blocks of ``{"type": "text", "text": …}`` and
            ``{"type": "image", "data": …, "mimeType": …}``.
        structured_content: for a program: the value where it is an object, else ``{"result": value}``.
        meta: says whether ``structured_content`` wraps the value.
        data: the value itself; ``None`` for a picture.
        is_error: the tool raised.
    """

    content: list[dict[str, Any]] = Field(default_factory=list)
    structured_content: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    data: Any = None
    is_error: bool = False


class ToolError(BaseModel):
    """Why a call did not happen, or failed: ``tool_not_found``, ``invalid_args``, ``execution_error``, ``timeout``."""

    error_type: Literal["tool_not_found", "invalid_args", "execution_error", "timeout"]
    message: str


class CallToolObservation(Observation):
    """What came of a call: a result, or an error."""

    tool_name: str
    result: ToolResult | None = None
    error: ToolError | None = None


def _read(value: Any, handler: Any) -> Any:
    if isinstance(value, CallToolAction | ListToolsAction):
        return value
    # Not a discriminated union: ``type`` may be missing, and the errors of one are not told as the other's.
    chosen = ListToolsAction if isinstance(value, dict) and value.get("type") == "list_tools" else CallToolAction
    return chosen.model_validate(value)


ToolAction = Annotated[CallToolAction | ListToolsAction, WrapValidator(_read)]
"""What an environment takes whose only actions are tools; without a ``type`` it is a call."""


def with_tool_actions(action: Any) -> Any:
    """The type of an action that may also be a call of a tool."""
    if action in (Action, CallToolAction, ListToolsAction, ToolAction):
        return ToolAction
    own: TypeAdapter[Any] = TypeAdapter(action)

    def read(value: Any, handler: Any) -> Any:
        is_tool = isinstance(value, CallToolAction | ListToolsAction)
        if is_tool or (isinstance(value, dict) and value.get("type") in ("call_tool", "list_tools")):
            return _read(value, handler)
        return own.validate_python(value)

    return Annotated[action | CallToolAction | ListToolsAction, WrapValidator(read)]


ToolObservation = CallToolObservation | ListToolsObservation | Observation
"""What such an environment gives."""
