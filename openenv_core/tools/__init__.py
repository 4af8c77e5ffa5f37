"""Tools of an environment: methods that an agent calls by name, declared once and served everywhere."""

from openenv_core.tools.actions import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    ToolAction,
    ToolError,
    ToolObservation,
    ToolResult,
)
from openenv_core.tools.declare import Tool, tool, tools_of
from openenv_core.tools.environment import EnvironmentWithTools
from openenv_core.tools.schemas import openai_tools

__all__ = [
    "CallToolAction",
    "CallToolObservation",
    "EnvironmentWithTools",
    "ListToolsAction",
    "ListToolsObservation",
    "Tool",
    "ToolAction",
    "ToolError",
    "ToolObservation",
    "ToolResult",
    "openai_tools",
    "tool",
    "tools_of",
]
