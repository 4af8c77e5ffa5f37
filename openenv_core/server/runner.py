"""Running an application under uvicorn, with the transport that suits it and an orderly end."""

import asyncio
import gc
import logging
import socket
from typing import Any

import uvicorn

from openenv_core.errors import ConfigurationError

__all__ = ["Server", "run", "server_config"]

_log = logging.getLogger("openenv_core")

_PING_S = 20.0


class Server(uvicorn.Server):
    """uvicorn, which before it closes connections lets running calls finish and tells every client why it ends."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain the sessions, then stop as uvicorn does."""
        gateway = getattr(getattr(self.config.loaded_app, "state", None), "gateway", None)
        if gateway is not None:
            await gateway.manager.drain(gateway.settings.drain_grace_s)
        await super().shutdown(sockets)


def server_config(application: Any, *, host: str, port: int, log_level: str = "info") -> uvicorn.Config:
    """uvicorn's settings for an application of ours.

    Compression is off: it costs more time and memory per message than the network gives back, and pictures travel
    compressed already. The loop and the parsers in C are used where they are installed.
    """
    gateway = getattr(getattr(application, "state", None), "gateway", None)
    limit = gateway.settings.max_message_bytes if gateway is not None else 16 * 2**20
    return uvicorn.Config(
        application,
        host=host,
        port=port,
        log_level="warning" if log_level == "info" else log_level,
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=limit,
        ws_per_message_deflate=False,
        ws_ping_interval=_PING_S,
        ws_ping_timeout=_PING_S,
        timeout_graceful_shutdown=5,
    )


def run(application: Any, *, host: str, port: int, log_level: str = "info") -> int:
    """Serve until told to stop. Returns an exit code: 0 for an orderly end.

    Raises:
        ConfigurationError: the port is taken, or the address is not this machine's.
    """
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = server_config(application, host=host, port=port, log_level=log_level)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
    address, bound_port = listener.getsockname()[:2]
    _log.info("listening on http://%s:%d", f"[{address}]" if family is socket.AF_INET6 else address, bound_port)
    server = Server(config)
    # What start-up has built stays for good: the collector need not go through it again and again.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))
    return 0 if server.started else 3
