"""A server in a thread of this process, on a free port of 127.0.0.1."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from openenv_core.errors import ConnectionFailedError
from openenv_core.server.runner import Server, server_config

__all__ = ["serving"]

_LIMIT_S = 30.0


@contextlib.contextmanager
def serving(application: Any) -> Iterator[str]:
    """The base URL of a server of this application, for the length of a ``with`` block.

    Raises:
        ConnectionFailedError: it did not start.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        server = Server(server_config(application, host="127.0.0.1", port=0))
        # A daemon: an environment that hangs must not keep the process from ending.
        thread = threading.Thread(target=server.run, args=([listener],), name="checked-server", daemon=True)
        thread.start()
        try:
            _await_start(server, thread)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(_LIMIT_S)


def _await_start(server: Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise ConnectionFailedError("the server of the checked environment did not start")
        time.sleep(0.01)
