"""Server processes on free loopback ports: start, wait until ready, read their memory, stop by process id."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "REPOSITORY",
    "PeerMissingError",
    "ServerProcess",
    "free_port",
    "peer_python",
    "running",
    "source_path",
    "spawn",
]

REPOSITORY = Path(__file__).resolve().parent.parent

_READY_LIMIT_S = 90.0
"""The public package imports for several seconds, on a busy machine for many."""

_STOP_LIMIT_S = 15.0


class PeerMissingError(RuntimeError):
    """The Python that holds the public ``openenv`` package is not there."""


def peer_python() -> Path:
    """The interpreter of the environment in which ``openenv==0.10.0`` is installed.

    Taken from ``OPENENV_PEER_PYTHON``, else ``.venv-peer/bin/python`` of the repository.

    Raises:
        PeerMissingError: there is no such file.
    """
    given = os.environ.get("OPENENV_PEER_PYTHON")
    python = Path(given) if given else REPOSITORY / ".venv-peer" / "bin" / "python"
    if not python.is_file():
        raise PeerMissingError(
            f"no Python of the public openenv package at {python}: "
            "run `make .venv-peer`, or set OPENENV_PEER_PYTHON to a Python with openenv==0.10.0"
        )
    # The link itself, not what it points to: a virtual environment is found by the place of its link.
    return python.absolute()


def source_path() -> str:
    """``PYTHONPATH`` that makes the framework, every client and every server importable from the source tree."""
    packages = sorted(path for folder in ("clients", "envs") for path in (REPOSITORY / folder).glob("*/"))
    return os.pathsep.join(map(str, [REPOSITORY, *packages]))


@dataclass
class ServerProcess:
    """A running server.

    Attributes:
        base_url: ``http://127.0.0.1:<port>``.
        process: the process itself.
        log: where its output goes.
    """

    base_url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.base_url.rpartition(":")[2])

    @property
    def websocket_url(self) -> str:
        """The base URL with the scheme of WebSocket."""
        return "ws" + self.base_url.removeprefix("http")

    def memory(self) -> int:
        """Proportional set size in bytes: private pages, plus the share of those that other processes map too."""
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the kernel tells no Pss")

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(_STOP_LIMIT_S)

    def stop(self) -> None:
        """Ask it to end; kill it where it does not within 15 s."""
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def log_tail(self) -> str:
        """The last lines that it wrote."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])


def spawn(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, port: int | None = None
) -> ServerProcess:
    """Start a server and wait until ``GET /health`` answers.

    Args:
        command: the words of the command; ``{port}`` in a word stands for the chosen port.
        environment: variables on top of this process's own.
        port: a port; default: a free one.

    Raises:
        RuntimeError: the process ended, or was not ready within 90 s; the message has the end of its log.
    """
    port = free_port() if port is None else port
    descriptor, name = tempfile.mkstemp(prefix="openenv-server-", suffix=".log")
    with os.fdopen(descriptor, "wb") as output:
        process = subprocess.Popen(
            [word.replace("{port}", str(port)) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
            cwd=REPOSITORY,
        )
    server = ServerProcess(f"http://127.0.0.1:{port}", process, Path(name))
    try:
        _wait_until_ready(server, port)
    except BaseException:
        server.stop()
        server.log.unlink()
        raise
    return server


@contextlib.contextmanager
def running(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Iterator[ServerProcess]:
    """:func:`spawn` for the length of a ``with`` block; the log file goes with it."""
    server = spawn(command, environment=environment)
    try:
        yield server
    finally:
        server.stop()
        server.log.unlink(missing_ok=True)


def free_port() -> int:
    """A port of the loopback interface on which nobody listens at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: ServerProcess, port: int) -> None:
    limit = time.monotonic() + _READY_LIMIT_S
    while time.monotonic() < limit:
        if server.process.poll() is not None:
            raise RuntimeError(f"the server ended with {server.process.returncode}:\n{server.log_tail()}")
        if _answers(port):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server was not ready within {_READY_LIMIT_S:.0f} s:\n{server.log_tail()}")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
