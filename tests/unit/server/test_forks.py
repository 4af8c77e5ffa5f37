import contextlib
import os
import socket

import pytest

from openenv_core.conformance.serving import serving
from openenv_core.server.app import create_app
from tests.support.awkward import Awkward, Do, Got

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def at_port(port: int) -> int:
    """How many sockets of this process have this local port."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists them
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    address = one.getsockname()
                    found += isinstance(address, tuple) and address[1] == port
    return found


def at_port_in_a_fork(port: int) -> int:
    child = os.fork()
    if child == 0:
        os._exit(at_port(port))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_has_neither_listener_nor_connections_and_the_server_goes_on() -> None:
    with serving(create_app(Awkward, Do, Got)) as base_url, socket.socket() as ours:
        port = int(base_url.rpartition(":")[2])
        ours.settimeout(10)
        ours.connect(("127.0.0.1", port))
        for _ in range(2):
            ours.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert ours.recv(4096).startswith(b"HTTP/1.1 200")
            assert at_port(port) == 2
            assert at_port_in_a_fork(port) == 0
