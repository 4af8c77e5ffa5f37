"""Containers of this machine, by the verbs of the public package."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from openenv_core.runtimes.docker import DockerRuntime
from openenv_core.runtimes.engine import connect_engine
from openenv_core.runtimes.readiness import is_ready, wait_until_ready

__all__ = ["LocalDockerProvider"]


class LocalDockerProvider:
    """Containers of this machine's engine by the verbs of the public package: one container at a time.

    Raises:
        ConfigurationError: no engine answers, or the extra ``docker`` is not installed.
    """

    def __init__(self) -> None:
        connect_engine().close()
        self._runtime: DockerRuntime | None = None

    def start_container(
        self, image: str, port: int | None = None, env_vars: Mapping[str, str] | None = None, **options: Any
    ) -> str:
        """Start a container of ``image`` and return the server's address, without waiting for the server.

        Args:
            image: its name.
            port: on this machine; default: a free one.
            env_vars: environment variables of the server.
            **options: ``ports``, ``network``, ``memory``, ``cpus`` and ``command`` as :class:`DockerRuntime` takes
                them. Others are accepted, as by the public package, and without effect.

        Raises:
            ConfigurationError: there is no such image, or the engine refuses an argument.
        """
        self.stop_container()
        known = {name: options[name] for name in ("ports", "network", "memory", "cpus", "command") if name in options}
        runtime = DockerRuntime(image, port=port, env_vars=env_vars, **known)
        try:
            runtime.launch()
        except BaseException:
            runtime.stop(grace_s=0)
            raise
        self._runtime = runtime
        return runtime.base_url

    def wait_for_ready(self, base_url: str, timeout_s: float = 60.0) -> None:
        """Wait until the server answers.

        Raises:
            ConnectionFailedError: it ended, or was not ready within ``timeout_s`` seconds. It is also a
                ``ConnectionError``.
        """
        if self._runtime is not None and self._runtime.base_url == base_url:
            self._runtime.wait_for_ready(timeout_s)
        else:
            wait_until_ready(f"the server at {base_url}", lambda: is_ready(base_url), limit_s=timeout_s)

    def stop_container(self) -> None:
        """Stop the container and remove it. May be called more than once."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.stop()

    def close(self) -> None:
        """The same as :meth:`stop_container`."""
        self.stop_container()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
