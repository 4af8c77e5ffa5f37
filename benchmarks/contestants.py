"""How each server and each client that takes part is started."""

import os
import sys
from collections.abc import Mapping

from benchmarks.processes import REPOSITORY, ServerProcess, peer_python, source_path, spawn
from benchmarks.worker import Worker

__all__ = ["MAX_SESSIONS", "SERVERS", "client", "start_server"]

MAX_SESSIONS = 1024

_UVICORN = ["-m", "uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "warning"]

# What `openenv serve` sets, for the bare application: the transport that ours stands on.
_SERVE_TRANSPORT = ["--ws", "websockets-sansio", "--loop", "uvloop", "--http", "httptools"]
_NO_DEFLATE = ["--ws-per-message-deflate", "false"]

SERVERS: Mapping[str, list[str]] = {
    "ours": [sys.executable, "-m", "openenv_core.cli", "serve", "echo_env_server:spec", "--port", "{port}"],
    "peer": [*_UVICORN, "benchmarks.peer_echo_server:app"],
    "bare": [sys.executable, *_UVICORN, *_SERVE_TRANSPORT, *_NO_DEFLATE, "benchmarks.bare_server:app"],
    "bare, uvicorn's defaults": [sys.executable, *_UVICORN, "benchmarks.bare_server:app"],
}
"""Command by contestant. The public package's lacks its interpreter, which is looked for when it is started."""


def _environment(name: str) -> dict[str, str]:
    if name == "peer":
        # Nothing of the source tree but this package: the compatibility distribution has the same name.
        return {"PYTHONPATH": str(REPOSITORY)}
    return {"PYTHONPATH": source_path(), "MAX_CONCURRENT_ENVS": str(MAX_SESSIONS)}


def start_server(name: str) -> ServerProcess:
    """Start a contestant's server and wait until it answers."""
    words = SERVERS[name]
    command = [str(peer_python()), *words] if name == "peer" else words
    return spawn(command, environment=_environment(name))


def client(name: str) -> Worker:
    """Start a contestant's client process: ``ours`` or ``peer``."""
    python = str(peer_python()) if name == "peer" else sys.executable
    command = [python, "-m", "benchmarks.peer_client" if name == "peer" else "benchmarks.our_client"]
    return Worker(command, {**os.environ, **_environment(name)}, REPOSITORY)
