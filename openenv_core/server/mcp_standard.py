"""The Model Context Protocol itself, for clients that know nothing of OpenEnv: streamable HTTP, by the official SDK.

One MCP session is one session of an environment. That is opened, and its first episode begun, by the first call of a
tool: a client that only looks holds no slot. The SDK (extra ``mcp``) is loaded when the first such client comes.
"""

import asyncio
import importlib
import logging
from typing import Any

from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.types import Send

from openenv_core import __version__
from openenv_core.errors import EpisodeOverError, LossReason, OpenEnvError, UnsupportedOperationError
from openenv_core.extras import needs_extra
from openenv_core.server.callers import Caller, caller_of
from openenv_core.server.gateway import Gateway
from openenv_core.server.jsonrpc import JsonRpcError, failure
from openenv_core.server.mcp import McpMethods, episode_meta, told
from openenv_core.sessions.session import Outcome, Session

__all__ = ["StandardMcp", "is_standard"]

_SESSION_HEADER = "mcp-session-id"
_VERSION_HEADER = "mcp-protocol-version"
_UNSUPPORTED_VERSION = -32022
_SPARE_SESSIONS = 256
"""MCP sessions beyond the number of slots: clients that look at the tools, and call none."""


def is_standard(request: Request) -> bool:
    """Whether a request is one of the Model Context Protocol: its clients must accept a stream of events."""
    headers = request.headers
    return "text/event-stream" in headers.get("accept", "") or _SESSION_HEADER in headers or _VERSION_HEADER in headers


class StandardMcp:
    """Serves the tools of an environment to MCP clients."""

    def __init__(self, gateway: Gateway, methods: McpMethods) -> None:
        self._gateway = gateway
        self._methods = methods
        self._sessions: dict[str, Session] = {}
        self._opening: dict[str, asyncio.Task[Session]] = {}
        self._starting: asyncio.Task[Any] | None = None
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def handle(self, request: Request, send: Send) -> None:
        """Answer one request."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        sdk = await asyncio.shield(self._starting)
        name = request.headers.get(_SESSION_HEADER, "")
        session = self._sessions.get(name)
        if session is not None and session.credential != caller_of(request.scope).credential:
            await JSONResponse({"detail": "Session not found"}, status_code=404)(request.scope, request.receive, send)
            return
        version = request.headers.get(_VERSION_HEADER)
        handshake = importlib.import_module("mcp_types.version").HANDSHAKE_PROTOCOL_VERSIONS
        if version is not None and version not in handshake:
            await (await _unsupported(request, version, handshake))(request.scope, request.receive, send)
            return
        await sdk.handle_request(request.scope, request.receive, send)
        if request.method == "DELETE" and (session := self._sessions.pop(name, None)) is not None:
            session.holder = None  # whoever asks for the end need not be told of it
            await self._gateway.manager.close(session, LossReason.CLOSED)

    async def close(self) -> None:
        """End every connection."""
        self._stop.set()
        if self._running is not None:
            await self._running

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """A session ended by itself: so does the MCP session, which its client is told by status 404."""
        for name in [name for name, held in self._sessions.items() if held is session]:
            del self._sessions[name]
            self._gateway.manager.spawn(self._forget(name))

    async def _start(self) -> Any:
        try:
            # In a thread: the import takes longer than many steps.
            lowlevel = await asyncio.to_thread(importlib.import_module, "mcp.server.lowlevel")
        except ImportError as error:
            self._starting = None
            raise UnsupportedOperationError(needs_extra("clients of the Model Context Protocol need", "mcp")) from error
        logging.getLogger("mcp").setLevel(
            logging.WARNING
        )  # what it tells beside are names of sessions, which open them
        settings, about = self._gateway.settings, await self._gateway.metadata()
        server = lowlevel.Server(
            self._gateway.env_name,
            version=about.version or __version__,
            instructions=about.description,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        sdk = importlib.import_module("mcp.server.streamable_http_manager").StreamableHTTPSessionManager(
            server,
            json_response=True,
            session_idle_timeout=settings.http_idle_timeout_s,
            max_request_body_size=settings.max_body_bytes,
            max_sessions=settings.max_sessions + _SPARE_SESSIONS,
        )
        ready = asyncio.Event()
        self._running = asyncio.create_task(self._run(sdk, ready))
        await ready.wait()
        return sdk

    async def _run(self, sdk: Any, ready: asyncio.Event) -> None:
        async with sdk.run():
            ready.set()
            await self._stop.wait()

    async def _list_tools(self, context: Any, params: Any) -> Any:
        types = importlib.import_module("mcp_types")
        tools = [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=dict(tool.input_schema),
                output_schema=dict(tool.output_schema) if tool.output_schema is not None else None,
            )
            for tool in (self._methods.tools or {}).values()
        ]
        return types.ListToolsResult(tools=tools)

    async def _call_tool(self, context: Any, params: Any) -> Any:
        request: Request = context.request
        try:
            session = await self._session(request.headers[_SESSION_HEADER], caller_of(request.scope))
            outcome = await self._methods.call_tool(session, params.name, dict(params.arguments or {}))
        except Exception as error:
            raise _protocol_error(self._gateway.typed_error(error)) from error
        return _result_of(outcome)

    async def _session(self, name: str, caller: Caller) -> Session:
        if name in self._sessions:
            return self._sessions[name]
        if name not in self._opening:
            self._opening[name] = opening = asyncio.create_task(self._open(name, caller))
            opening.add_done_callback(lambda _: self._opening.pop(name, None))
        return await asyncio.shield(self._opening[name])

    async def _open(self, name: str, caller: Caller) -> Session:
        session = await self._methods.open_and_reset(caller, door="mcp.http", holder=self)
        self._sessions[name] = session
        return session

    async def _forget(self, name: str) -> None:
        async def nothing(*message: Any) -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        headers = [(_SESSION_HEADER.encode(), name.encode("latin-1"))]
        scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}
        sdk = await self._starting if self._starting is not None else None
        if sdk is not None and not self._stop.is_set():
            await sdk.handle_request(scope, nothing, nothing)


async def _unsupported(request: Request, version: str, supported: Any) -> JSONResponse:
    # From 2026-07-28 on every request stands alone. An environment has a state, which takes a session: the client is
    # told which versions have one, and falls back to the newest of those.
    try:
        request_id = (await request.json())["id"]
    except (ValueError, KeyError, TypeError):
        request_id = None
    data = {"supported": list(supported), "requested": version}
    error = JsonRpcError(_UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return JSONResponse(failure(request_id, error), status_code=400)


def _protocol_error(error: OpenEnvError) -> Exception:
    answer = told(error)
    message = answer.message
    if isinstance(error, EpisodeOverError):
        message = "the episode is over; a new MCP session starts the next one"
    made: Exception = importlib.import_module("mcp.shared.exceptions").MCPError(answer.code, message, answer.data)
    return made


def _result_of(outcome: Outcome) -> Any:
    types = importlib.import_module("mcp_types")
    observation = outcome.observation
    error, result = getattr(observation, "error", None), getattr(observation, "result", None)
    meta = episode_meta(outcome) or None
    if error is not None:
        return types.CallToolResult(content=[types.TextContent(text=error.message)], is_error=True, _meta=meta)
    if result is None:
        return types.CallToolResult(content=[], _meta=meta)
    blocks = [
        types.TextContent(text=block["text"])
        if block["type"] == "text"
        else types.ImageContent(data=block["data"], mime_type=block["mimeType"])
        for block in result.content
    ]
    return types.CallToolResult(content=blocks, structured_content=result.structured_content, _meta=meta)
