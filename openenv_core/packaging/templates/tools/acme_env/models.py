"""What an agent and the acme environment say to each other: calls of tools, and what comes of them."""

from openenv_core import State
from openenv_core.tools import CallToolAction, ToolAction, ToolObservation

__all__ = ["AcmeAction", "AcmeObservation", "AcmeState", "call"]

AcmeAction = ToolAction
AcmeObservation = ToolObservation
AcmeState = State


def call(tool_name: str, **arguments: object) -> CallToolAction:
    """The action that calls a tool."""
    return CallToolAction(tool_name=tool_name, arguments=arguments)
