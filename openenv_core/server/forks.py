"""Processes that an environment forks keep none of the server's sockets.

They would outlive it: with a copy of its listener about, the system goes on taking connections for a dead server, and
with copies of its connections nobody learns that it is gone. A program that is started has none; only a fork has.
"""

import contextlib
import os
import weakref

import uvicorn

__all__ = ["let_go_in_forks"]

_servers: "weakref.WeakSet[uvicorn.Server]" = weakref.WeakSet()


def let_go_in_forks(server: uvicorn.Server) -> None:
    """From now on, whatever forks this process has none of the sockets of ``server``."""
    _servers.add(server)


def _let_go() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for server in list(_servers):
        for descriptor in _descriptors(server):
            # Not closed: an object of the parent's may still close that number, which must be nobody else's by then.
            with contextlib.suppress(OSError):
                os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _descriptors(server: uvicorn.Server) -> list[int]:
    """Those of the listeners and of the connections."""
    transports = [getattr(connection, "transport", None) for connection in list(server.server_state.connections)]
    found = [transport.get_extra_info("socket") for transport in transports if transport is not None]
    listeners = [each for one in getattr(server, "servers", ()) for each in one.sockets]
    return [number for each in (*listeners, *found) if each is not None and (number := each.fileno()) >= 0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
