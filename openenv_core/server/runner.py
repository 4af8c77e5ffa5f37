"""Running an application under uvicorn, with the transport that suits it and an orderly end."""

import asyncio
import gc
import logging
import signal
import socket
import threading
from typing import Any

import uvicorn

from openenv_core.errors import ConfigurationError
from openenv_core.server.doorkeeper import is_loopback
from openenv_core.server.forks import let_go_in_forks
from openenv_core.server.logs import configure_logging
from openenv_core.server.transport import bounded_protocol
from openenv_core.settings import ServerSettings

__all__ = ["Server", "run", "server_config"]

_log = logging.getLogger("openenv_core")


class Server(uvicorn.Server):
    """uvicorn, which before it closes connections lets running calls finish and tells every client why it ends."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and have no process that an environment forks keep the sockets."""
        await super().startup(sockets)
        let_go_in_forks(self)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain the sessions, then stop as uvicorn does."""
        gateway = _state(self.config.app, "gateway")
        if gateway is not None:
            await gateway.shut_down()
        await super().shutdown(sockets)


def server_config(application: Any, *, host: str, port: int, log_level: str = "info") -> uvicorn.Config:
    """uvicorn's settings for an application of ours.

    Compression is off: it costs more time and memory per message than the network gives back, and pictures travel
    compressed already. The loop and the parsers in C are used where they are installed.
    """
    settings = _settings(application)
    return uvicorn.Config(
        application,
        host=host,
        port=port,
        log_level="warning" if log_level == "info" else log_level,
        log_config=None,
        access_log=False,
        http=bounded_protocol(settings),
        proxy_headers=False,  # whose word counts is a setting of ours
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=settings.max_message_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=settings.ping_interval_s,
        ws_ping_timeout=settings.ping_timeout_s,
        timeout_graceful_shutdown=5,
    )


def run(application: Any, *, host: str, port: int, log_level: str = "info") -> int:
    """Serve until told to stop. Returns an exit code: 0 for an orderly end.

    Raises:
        ConfigurationError: the port is taken, or the address is not this machine's.
    """
    settings = _settings(application)
    configure_logging(log_level, settings.log_format, token=settings.token)
    config = server_config(application, host=host, port=port, log_level=log_level)
    listener = _listen(host, port)
    _notice_dead_peers(listener, settings)
    address, bound_port = listener.getsockname()[:2]
    doorkeeper = _state(application, "doorkeeper")
    if doorkeeper is not None:
        doorkeeper.bound_to = address
    if not settings.token and not is_loopback(address):
        _log.warning(
            "ANYBODY WHO REACHES %s:%d CAN USE THIS SERVER: it listens beyond this machine and asks for no token. "
            "Set OPENENV_TOKEN, or listen on 127.0.0.1.",
            *(address, bound_port),
        )
    _log.info("listening on http://%s:%d", f"[{address}]" if ":" in address else address, bound_port)
    server = Server(config)
    # What start-up has built stays for good: the collector need not go through it again and again.
    gc.collect()
    gc.freeze()
    _let_the_end_be_orderly()
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))
    return 0 if server.started else 3


def _let_the_end_be_orderly() -> None:
    # After its orderly end uvicorn raises the signal that asked for it once more; that must not make it look like a
    # crash to whoever started the process.
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "ports are from 0 to 65535"
        raise ConfigurationError(f"cannot listen on {host}:{port}: {why}; choose another --port") from error
    return listener


def _notice_dead_peers(listener: socket.socket, settings: ServerSettings) -> None:
    """Have the system end a connection to which nothing can be written any more: closing it in order would wait for
    ever for a peer that is out of reach, or stopped. Accepted sockets take the option over from their listener."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        limit_ms = round((settings.ping_interval_s + settings.ping_timeout_s) * 1000)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit_ms)


def _state(application: Any, name: str) -> Any:
    """Something that ``create_app`` left on its application; ``None`` on any other application."""
    return getattr(getattr(application, "state", None), name, None)


def _settings(application: Any) -> ServerSettings:
    gateway = _state(application, "gateway")
    settings: ServerSettings = gateway.settings if gateway is not None else ServerSettings.from_environ()
    return settings
