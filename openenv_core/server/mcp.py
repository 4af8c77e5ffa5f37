"""``/mcp``: tools over JSON-RPC, by HTTP and WebSocket, with the sessions of the public protocol."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

from openenv_core.errors import CapacityReachedError, EnvironmentFactoryError, LossReason, OpenEnvError
from openenv_core.server.callers import Caller
from openenv_core.server.gateway import Gateway
from openenv_core.server.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER_ERROR,
    JsonRpcError,
    encode,
    failure,
    read_request,
    success,
)
from openenv_core.server.tool_sessions import ToolSessions
from openenv_core.sessions.session import Holder, Outcome, Session
from openenv_core.tools.actions import CallToolAction, ToolResult
from openenv_core.tools.declare import Tool

__all__ = ["McpMethods", "episode_meta", "told"]


class McpMethods:
    """The methods that ``/mcp`` and the ``mcp`` frames of ``/ws`` answer.

    Args:
        tools: the tools of the environment by name; ``None`` for one that offers none.
        sessions: the sessions that requests have opened.
    """

    def __init__(self, gateway: Gateway, tools: Mapping[str, Tool] | None, sessions: ToolSessions) -> None:
        self._gateway = gateway
        self.tools = tools
        self.sessions = sessions

    async def answer_text(self, text: str | bytes | None, caller: Caller, own: Session | None) -> bytes:
        """The answer to a message on a socket; ``None`` stands for a binary one."""
        try:
            if text is None:
                raise ValueError("a binary frame; send text")
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return encode(failure(None, JsonRpcError(PARSE_ERROR, f"Parse error: {error}")))
        return encode(await self.answer(value, caller, own))

    async def answer(self, value: Any, caller: Caller, own: Session | None = None) -> dict[str, Any]:
        """The answer to a request, whatever it is.

        Args:
            value: the request, as JSON gave it.
            own: the session of the connection on which it came.
        """
        request_id = None
        try:
            request = read_request(value)
            request_id = request.id
            return success(request_id, await self._result(request.method, request.params, caller, own))
        except JsonRpcError as error:
            return failure(request_id, error)
        except Exception as error:  # noqa: BLE001 - the boundary to the client: everything becomes an error answer
            return failure(request_id, told(self._gateway.typed_error(error)))

    async def _result(self, method: str, params: dict[str, Any], caller: Caller, own: Session | None) -> Any:
        if method == "tools/list":
            return self._list(params, caller)
        if method == "tools/call":
            return await self._call(params, caller, own)
        if method == "openenv/session/create":
            session = own or await self.sessions.open(caller)
            return {"session_id": session.id}
        if method == "openenv/session/close":
            return await self._close(params, caller, own)
        raise JsonRpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def _named(self, params: Mapping[str, Any], caller: Caller) -> Session | None:
        named = params.get("session_id")
        if named is None:
            return None
        session = self.sessions.find(str(named), caller)
        if session is None:
            raise JsonRpcError(INVALID_PARAMS, f"Unknown session_id: {named}")
        self.sessions.use(session)
        return session

    def _offered(self) -> Mapping[str, Tool]:
        if self.tools is None:
            raise JsonRpcError(INTERNAL_ERROR, "Environment does not support MCP")
        return self.tools

    def _list(self, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
        tools = self._offered()
        self._named(params, caller)
        return {"tools": [_listed(tool) for tool in tools.values()]}

    async def _call(self, params: dict[str, Any], caller: Caller, own: Session | None) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not name:
            raise JsonRpcError(INVALID_PARAMS, "Missing 'name' in params")
        self._offered()
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise JsonRpcError(INTERNAL_ERROR, "a tool's name is a text, and its arguments are an object")
        session = own or self._named(params, caller)
        if session is not None:
            return _result_of(await self.call_tool(session, name, arguments))
        # Without a session there is one for this call alone; it counts against the capacity like any other.
        session = await self.open_and_reset(caller, door="mcp.once", holder=self.sessions)
        try:
            return _result_of(await self.call_tool(session, name, arguments))
        finally:
            await self._gateway.manager.close(session, LossReason.CLOSED)

    async def call_tool(self, session: Session, name: str, arguments: dict[str, Any]) -> Outcome:
        """Call a tool as the action that it is: it counts as a step, is rewarded, and may end the episode."""
        action = CallToolAction(tool_name=name, arguments=arguments)
        outcome = self._gateway.call(session, "step", action, _as_it_is)
        return await outcome if inspect.isawaitable(outcome) else outcome

    async def open_and_reset(self, caller: Caller, *, door: str, holder: Holder) -> Session:
        """A session whose client knows nothing of episodes: the first has begun."""
        session = await self._gateway.open(
            caller,
            door=door,
            holder=holder,
            idle_timeout_s=self._gateway.settings.http_idle_timeout_s,
        )
        try:
            begun = self._gateway.call(session, "reset", {}, _as_it_is)
            if inspect.isawaitable(begun):
                await begun
        except BaseException:
            await self._gateway.manager.close(session, LossReason.CLOSED)
            raise
        return session

    async def _close(self, params: dict[str, Any], caller: Caller, own: Session | None) -> dict[str, Any]:
        named = params.get("session_id")
        if named is None:
            raise JsonRpcError(INVALID_PARAMS, "Invalid params - 'session_id' is required")
        if own is not None and named == own.id:
            raise JsonRpcError(INVALID_REQUEST, "Cannot close active WebSocket-managed session via MCP method")
        session = self.sessions.find(str(named), caller)
        if session is None:
            raise JsonRpcError(INVALID_PARAMS, f"Unknown session_id: {named}")
        if await self.sessions.close(session):
            return {"session_id": session.id, "closed": True}
        return {"session_id": session.id, "closed": False, "closing": True}


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome


def told(error: OpenEnvError) -> JsonRpcError:
    """What an error answer says of one of ours."""
    if isinstance(error, CapacityReachedError | EnvironmentFactoryError):
        return JsonRpcError(SERVER_ERROR, error.public_message, error.details or None)
    return JsonRpcError(INTERNAL_ERROR, error.message, {"code": error.code, **error.details})


def _listed(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": None,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "icons": None,
        "annotations": None,
        "meta": None,
        "execution": None,
    }


def _result_of(outcome: Outcome) -> dict[str, Any]:
    """The result of a call for a client that sees no observation: reward and end stand in ``meta``."""
    observation = outcome.observation
    error, result = getattr(observation, "error", None), getattr(observation, "result", None)
    if error is not None:
        raise JsonRpcError(INTERNAL_ERROR, error.message)
    found: dict[str, Any] = (result or ToolResult()).model_dump(mode="json")
    if earned := episode_meta(outcome):
        found["meta"] = {**(found["meta"] or {}), **earned}
    return found


def episode_meta(outcome: Outcome) -> dict[str, Any]:
    """What a call meant for the episode, where it meant anything."""
    observation = outcome.observation
    if observation.reward is None and not observation.done:
        return {}
    return {"openenv": {"reward": observation.reward, "done": observation.done, "truncated": outcome.truncated}}
