"""An environment whose actions are calls of its own methods."""

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from openenv_core.environment import Environment
from openenv_core.errors import OpenEnvError, UnsupportedOperationError
from openenv_core.tools.actions import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    ToolAction,
    ToolError,
    ToolObservation,
)
from openenv_core.tools.declare import Tool, tools_of
from openenv_core.tools.results import tool_result
from openenv_core.types import State

__all__ = ["EnvironmentWithTools"]


class EnvironmentWithTools(Environment[ToolAction, ToolObservation, State]):
    """An environment of tools: give ``reset``, and mark methods with :func:`~openenv_core.tools.tool`.

    A tool that raises, does not exist or is called with wrong arguments is an observation with an ``error``, from which
    an agent can learn; the episode goes on. An ``OpenEnvError`` is for what the agent has no part in, a lost service
    say, and fails the step. Rewards and the end come from :meth:`judge`. Where there are actions beside the tools, name
    the types (``class Mine(EnvironmentWithTools, Environment[MyAction, MyObservation, State])``) and give :meth:`act`.
    """

    def judge(self, observation: CallToolObservation) -> Any:
        """Say what a call has earned, and whether it ends the episode; called after each, whatever came of it."""
        return observation

    def act(self, action: Any) -> Any:
        """Do an action that is no call of a tool. May be ``async def``."""
        raise UnsupportedOperationError("this environment takes calls of its tools and no other actions")

    async def step(self, action: Any) -> Any:
        """List the tools, call one, or do another action."""
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=[one.described for one in self.tools().values()])
        if isinstance(action, CallToolAction):
            return await _settled(self.judge(await self._call(action)))
        return await _settled(self.act(action))

    @classmethod
    def tools(cls) -> Mapping[str, Tool]:
        """The tools by name."""
        return tools_of(cls)

    async def _call(self, action: CallToolAction) -> CallToolObservation:
        name = action.tool_name
        found = self.tools().get(name)
        if found is None:
            return _failure(name, "tool_not_found", f"Unknown tool: {name!r}")
        try:
            keywords = found.keywords(action.arguments)
        except ValidationError as error:
            return _failure(name, "invalid_args", str(error))
        deadline = asyncio.timeout(found.timeout_s)
        try:
            async with deadline:
                value = await _settled(getattr(self, found.method)(**keywords))
            return CallToolObservation(tool_name=name, result=tool_result(value))
        except OpenEnvError:
            raise  # a fault of the world is no move of the agent's
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the agent to know
            if deadline.expired():
                return _failure(name, "timeout", f"Tool {name!r} took longer than {found.timeout_s:g} s")
            return _failure(name, "execution_error", f"Error calling tool {name!r}: {error}")


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _failure(name: str, kind: Any, message: str) -> CallToolObservation:
    return CallToolObservation(tool_name=name, error=ToolError(error_type=kind, message=message))
