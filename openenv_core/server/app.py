"""The application factory. It assembles; what happens on a request is elsewhere."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from openenv_core.backends import Backend, InlineBackend, ProcessBackend, ThreadBackend
from openenv_core.environment import EnvironmentSpec, class_of_factory, traits_of
from openenv_core.errors import ConcurrencyConfigurationError, ConfigurationError, OpenEnvError, jsonable
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.doors import Doors
from openenv_core.server.gateway import Gateway, ModelTypes
from openenv_core.server.http import ERRORS, SESSION_HEADER, HttpDoor, error_response
from openenv_core.server.mcp import McpMethods
from openenv_core.server.mcp_doors import McpHttpDoor, McpSocketDoor
from openenv_core.server.mcp_standard import StandardMcp
from openenv_core.server.metrics import MetricsDoor
from openenv_core.server.sessions_http import SessionsDoor
from openenv_core.server.tasks import TaskDoor
from openenv_core.server.tool_sessions import ToolSessions
from openenv_core.server.ws import WebSocketDoor
from openenv_core.sessions.manager import SessionManager
from openenv_core.settings import ServerSettings
from openenv_core.tools import (
    CallToolAction,
    EnvironmentWithTools,
    ListToolsAction,
    Tool,
    tools_of,
)
from openenv_core.tools.actions import with_tool_actions
from openenv_core.types import Action, State

if TYPE_CHECKING:
    from openenv_core.recording import Recorder

__all__ = ["ConcurrencyConfig", "create_app", "create_app_from_spec"]

_API_VERSION = "1.0.0"
"""Version of the public HTTP API, which its validators look for; not the version of this package."""


@dataclasses.dataclass(frozen=True)
class ConcurrencyConfig:
    """Limits of one server, as the public package names them.

    Attributes:
        max_concurrent_envs: sessions at a time.
        session_timeout: seconds after which an unused session ends; ``None`` leaves the server's default, which is
            finite too.
    """

    max_concurrent_envs: int = 1
    session_timeout: float | None = None


def create_app(
    env: Callable[[], Any],
    action_cls: Any,
    observation_cls: Any,
    env_name: str | None = None,
    max_concurrent_envs: int | None = None,
    concurrency_config: ConcurrencyConfig | None = None,
    gradio_builder: Any = None,
    custom_tab_name: str = "Custom",
    custom_tab_primary: bool = False,
    show_default_tab: bool = True,
    title_override: str | None = None,
    state_cls: Any = State,
    *,
    mode: Literal["simulation", "production"] | None = None,
    reset_observation_cls: Any = None,
    settings: ServerSettings | None = None,
    spec: EnvironmentSpec | None = None,
) -> FastAPI:
    """An application that hosts environments behind sessions.

    The order of the arguments is the public package's. Those that shape its Gradio page have no effect.

    Args:
        env: makes one environment without arguments: a class, a partial, a function. Not an instance.
        action_cls, observation_cls, state_cls: the models; ``action_cls`` may be a union of them.
        env_name: the name in routes and greetings; default: the factory's name.
        max_concurrent_envs: sessions at a time; default: ``MAX_CONCURRENT_ENVS``, else 1.
        concurrency_config: the same and the idle time, in one object; not together with ``max_concurrent_envs``.
        mode: ``"production"`` leaves out the routes ``/reset``, ``/step`` and ``/state``; default: ``OPENENV_MODE``,
            else ``"simulation"``.
        reset_observation_cls: what ``reset`` returns, where that differs; for the schema.
        settings: all limits; default: the environment variables.
        spec: what more is known of the environment, for people: the page and the terminal show it.

    Raises:
        TypeError: ``env`` is an instance.
        ConfigurationError: settings contradict each other or cannot work.
        ConcurrencyConfigurationError: more than one session of a class that is not concurrency-safe.
    """
    if not callable(env):
        raise TypeError(
            f"create_app needs a factory, not an instance: pass the class {type(env).__name__} itself, or a function "
            "that makes a new environment for each session"
        )
    settings = _with_limits(settings or ServerSettings.from_environ(), max_concurrent_envs, concurrency_config)
    manager = SessionManager(env, _backend(env, settings), settings)
    tools = _tools(env, action_cls)
    action = action_cls if tools is None else with_tool_actions(action_cls)
    types = ModelTypes(action, observation_cls, state_cls, reset_observation_cls)
    name = env_name or str(getattr(env, "__name__", "environment"))
    gateway = Gateway(name, env, types, manager, settings)
    app, sockets = _assemble(gateway, mode or settings.mode, tools)
    if settings.web_interface:
        _add_page(app, sockets, gateway, env, spec, has_http=(mode or settings.mode) != "production")
    _guard(app, gateway, sockets)
    return app


def create_app_from_spec(spec: EnvironmentSpec, settings: ServerSettings | None = None) -> FastAPI:
    """The application of an installed environment. Settings default to the environment variables.

    Raises:
        ConfigurationError: as :func:`create_app`, or the environment's own variables cannot work.
    """
    if spec.check is not None:
        spec.check()
    if settings is None:
        settings = ServerSettings.from_environ(default_max_sessions=spec.max_sessions)
    models = spec.action_type, spec.observation_type
    return create_app(spec.factory, *models, spec.name, state_cls=spec.state_type, settings=settings, spec=spec)


def _with_limits(
    settings: ServerSettings, max_concurrent_envs: int | None, config: ConcurrencyConfig | None
) -> ServerSettings:
    if config is not None and max_concurrent_envs is not None:
        raise ConfigurationError("give max_concurrent_envs or concurrency_config, not both")
    limit = config.max_concurrent_envs if config is not None else max_concurrent_envs
    changes: dict[str, Any] = {}
    if limit is not None:
        if limit < 1:
            raise ConfigurationError(f"max_concurrent_envs is {limit}; it must be 1 or more")
        changes["max_sessions"] = limit
    if config is not None and config.session_timeout is not None:
        changes["idle_timeout_s"] = config.session_timeout
    return dataclasses.replace(settings, **changes)


def _tools(factory: Callable[[], Any], action_cls: Any) -> Mapping[str, Tool] | None:
    """The tools of the environment; ``None`` where it is none that takes calls of them."""
    cls = class_of_factory(factory)
    if cls is None and action_cls in (Action, CallToolAction, ListToolsAction):
        cls = _probe(factory)  # only an instance can tell
    return tools_of(cls) if cls is not None and issubclass(cls, EnvironmentWithTools) else None


def _backend(factory: Callable[[], Any], settings: ServerSettings) -> Backend:
    cls = class_of_factory(factory)
    forced = settings.execution != "auto"
    if cls is None and settings.max_sessions > 1 and settings.execution != "process":
        cls = _probe(factory)  # only an instance can tell
    # What nobody knows gets the backend that suits every class.
    execution = settings.execution if forced else traits_of(cls).execution if cls is not None else "thread"
    if execution == "process":
        return ProcessBackend(settings, factory)
    if cls is not None:
        _refuse_unsafe(cls, settings)
    return InlineBackend() if execution == "inline" else ThreadBackend()


def _probe(factory: Callable[[], Any]) -> type[Any]:
    """The class of what a factory makes: one is made and closed as a session's would be, whatever loop runs here."""
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        return elsewhere.submit(asyncio.run, _made_by(factory)).result()


async def _made_by(factory: Callable[[], Any]) -> type[Any]:
    handle = await ThreadBackend().open(factory)
    await handle.close()
    return handle.traits.cls


def _refuse_unsafe(cls: Any, settings: ServerSettings) -> None:
    if settings.max_sessions > 1 and not traits_of(cls).concurrency_safe:
        raise ConcurrencyConfigurationError(
            f"{cls.__name__} does not say that its instances may run side by side, but {settings.max_sessions} "
            'sessions are wanted: set concurrency_safe = True on the class if they may, execution = "process" if each '
            "may have a process of its own, or max_concurrent_envs=1",
            environment_name=cls.__name__,
            max_concurrent_envs=settings.max_sessions,
        )


def _assemble(gateway: Gateway, mode: str, tools: Mapping[str, Tool] | None) -> tuple[FastAPI, dict[str, ASGIApp]]:
    """The application without its doors, and what WebSockets are answered by, by path."""
    methods = McpMethods(gateway, tools, ToolSessions(gateway))
    standard = StandardMcp(gateway, methods)
    gateway.closers.append(standard.close)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await gateway.manager.start()
        yield
        await gateway.shut_down()

    app = FastAPI(title="OpenEnv Environment HTTP API", version=_API_VERSION, lifespan=lifespan)
    app.state.gateway = gateway
    app.state.doorkeeper = Doorkeeper(gateway.settings)
    app.add_exception_handler(OpenEnvError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_misfit)
    sockets: dict[str, ASGIApp] = {"/ws": WebSocketDoor(gateway, methods), "/mcp": McpSocketDoor(gateway, methods)}
    app.router.routes.extend(WebSocketRoute(path, door) for path, door in sockets.items())
    recorder, watching = _look_on(gateway, app.state.doorkeeper, tools)
    doors = (
        HttpDoor(gateway, control=mode != "production"),
        TaskDoor(gateway),
        SessionsDoor(gateway, app.state.doorkeeper),
        MetricsDoor(gateway, recorder),
    )
    for router in (*(door.router for door in doors), *watching):
        app.include_router(router, responses=ERRORS)
    app.router.routes.append(Route("/mcp", McpHttpDoor(methods, standard)))
    return app, sockets


def _look_on(
    gateway: Gateway, doorkeeper: Doorkeeper, tools: Mapping[str, Tool] | None
) -> "tuple[Recorder | None, list[APIRouter]]":
    """Record, and let operators watch, where that is wanted; a server without it loads nothing of it."""
    if not gateway.settings.record and not gateway.settings.web_interface:
        return None, []
    from openenv_core.server.watch.setup import look_on

    return look_on(gateway, doorkeeper, tools)


def _add_page(
    app: FastAPI,
    sockets: dict[str, ASGIApp],
    gateway: Gateway,
    factory: Callable[[], Any],
    spec: EnvironmentSpec | None,
    *,
    has_http: bool,
) -> None:
    """Add what people see; a server without it loads nothing of it."""
    from openenv_core.server.playground import PageDoor

    page = PageDoor(gateway, factory, spec, app.state.doorkeeper, has_http=has_http)
    app.router.routes.extend(page.routes)
    sockets["/web/ws"] = page.socket


def _guard(app: FastAPI, gateway: Gateway, sockets: Mapping[str, ASGIApp]) -> None:
    """Put the doors around the application. What is added later stands further out."""
    settings = gateway.settings
    app.add_middleware(Doors, gateway=gateway, doorkeeper=app.state.doorkeeper, sockets=sockets)
    if settings.allowed_origins:
        # Further out than the doors: a browser asks whether it may send a token before it sends one.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.allowed_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", SESSION_HEADER],
            expose_headers=[SESSION_HEADER],
        )
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxies))


async def _on_misfit(request: Request, error: Exception) -> JSONResponse:
    # As FastAPI does it, which fails on numbers and characters that strict JSON does not have.
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": jsonable(error.errors())}, status_code=422)


async def _on_error(request: Request, error: Exception) -> JSONResponse:
    gateway: Gateway = request.app.state.gateway
    return error_response(gateway.typed_error(error))
