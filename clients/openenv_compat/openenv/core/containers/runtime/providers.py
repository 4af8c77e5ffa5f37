"""A server in a container of this machine."""

import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from typing import Any

import httpx

from openenv_core.errors import ConfigurationError, ConnectionFailedError

__all__ = ["LocalDockerProvider"]

_CONTAINER_PORT = 8000
_START_LIMIT_S = 300.0


class LocalDockerProvider:
    """Starts one container with the ``docker`` command. It is reached on the loopback interface only.

    Raises:
        ConfigurationError: there is no ``docker`` command.
    """

    def __init__(self) -> None:
        if shutil.which("docker") is None:
            raise ConfigurationError("there is no docker command on this machine; give the address of a server instead")
        self._container: str | None = None

    def start_container(
        self, image: str, port: int | None = None, env_vars: Mapping[str, str] | None = None, **_: Any
    ) -> str:
        """Start a container of ``image`` and return the server's address.

        Args:
            image: its name.
            port: on this machine; default: a free one.
            env_vars: environment variables of the server.
            **_: accepted, as by the public package, and without effect.

        Raises:
            ConnectionFailedError: docker did not start it; the message is docker's own.
        """
        chosen = port or _free_port()
        command = ["docker", "run", "--detach", "--rm", "--publish", f"127.0.0.1:{chosen}:{_CONTAINER_PORT}"]
        for name, value in (env_vars or {}).items():
            command += ["--env", f"{name}={value}"]
        done = subprocess.run([*command, image], capture_output=True, text=True, timeout=_START_LIMIT_S, check=False)
        if done.returncode != 0:
            raise ConnectionFailedError(f"docker could not start {image}: {done.stderr.strip()}")
        self._container = done.stdout.strip()
        return f"http://127.0.0.1:{chosen}"

    def wait_for_ready(self, base_url: str, timeout_s: float = 60.0) -> None:
        """Wait until the server answers.

        Raises:
            ConnectionFailedError: it did not within ``timeout_s`` seconds. It is also a ``ConnectionError``.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{base_url}/health", timeout=2.0, trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        raise ConnectionFailedError(f"the server at {base_url} was not ready within {timeout_s:g} s")

    def stop_container(self) -> None:
        """Stop the container. May be called more than once."""
        container, self._container = self._container, None
        if container is not None:
            subprocess.run(["docker", "stop", container], capture_output=True, timeout=60.0, check=False)

    def close(self) -> None:
        """The same as :meth:`stop_container`."""
        self.stop_container()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
