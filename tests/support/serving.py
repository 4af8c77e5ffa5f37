"""A real server in a thread of this process: the test sees its sessions as well as its sockets."""

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from openenv_core.environment import Environment
from openenv_core.errors import LossReason
from openenv_core.server import create_app
from openenv_core.server.gateway import Gateway
from openenv_core.server.runner import Server, server_config
from openenv_core.settings import ServerSettings
from tests.support.waiting import LIMIT_S, eventually

__all__ = ["Served", "serving"]


@dataclass(frozen=True)
class Served:
    """A running server.

    Attributes:
        base_url: ``http://127.0.0.1:<port>``.
        gateway: its insides.
        server: uvicorn's server object.
    """

    base_url: str
    gateway: Gateway
    server: Server

    @property
    def ws_url(self) -> str:
        """The address of its WebSocket."""
        return self.base_url.replace("http", "ws", 1) + "/ws"

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.base_url.rpartition(":")[2])

    def end_sessions(self) -> None:
        """End every session that is left, and wait until their slots are free."""
        manager = self.gateway.manager
        for session in list(manager.sessions.values()):
            self.loop.call_soon_threadsafe(manager.close_soon, session, LossReason.CLOSED)
        eventually(lambda: self.active == 0)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The server's event loop."""
        return self.server.servers[0].get_loop()

    @property
    def active(self) -> int:
        """Slots in use."""
        return self.gateway.manager.admission.active


@contextlib.contextmanager
def serving(
    env: Callable[[], Any] | type[Environment[Any, Any, Any]],
    *models: Any,
    env_name: str = "toy",
    port: int = 0,
    limits: dict[str, Any] | None = None,
    **arguments: Any,
) -> Iterator[Served]:
    """A server of an environment, for the length of a ``with`` block.

    Args:
        env: class or factory.
        *models: action, observation and state class; default: those that the class names.
        env_name: its name in routes.
        port: where it listens; a free one by default.
        limits: fields of ``ServerSettings``; by default there is room for 8 sessions.
        **arguments: further arguments of ``create_app``.
    """
    if not models:
        assert isinstance(env, type)
        assert issubclass(env, Environment)
        models = env.action_type(), env.observation_type(), env.state_type()
    action, observation, state = models
    settings = dataclasses.replace(ServerSettings(max_sessions=8, drain_grace_s=5.0), **(limits or {}))
    app = create_app(env, action, observation, env_name, state_cls=state, settings=settings, **arguments)
    server = Server(server_config(app, host="127.0.0.1", port=port))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: server.started or not thread.is_alive())
        assert server.started, "the server did not start"
        bound_to = server.servers[0].sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{bound_to}", app.state.gateway, server)
    finally:
        server.should_exit = True
        thread.join(LIMIT_S)
        assert not thread.is_alive(), "the server did not end"
