"""The container engine of this machine, by the Python SDK of Docker: the extra ``docker``."""

import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from openenv_core.errors import ConfigurationError
from openenv_core.extras import needs_extra
from openenv_core.runtimes.owners import HOST_LABEL, host_identity, is_abandoned

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["connect_engine", "engine_errors", "has_image", "refusals", "sweep"]

_DEFAULT_ENGINE = "unix:///var/run/docker.sock"
_ENGINE_LIMIT_S = 120
_KNOCK_LIMIT_S = 10.0

_log = logging.getLogger(__name__)


def connect_engine() -> "DockerClient":
    """A connection to the engine that ``DOCKER_HOST``, or the docker command's current context, names.

    Raises:
        ConfigurationError: the extra ``docker`` is not installed, or no engine answers.
    """
    try:
        import docker
        from docker.context import ContextAPI
        from docker.errors import DockerException
    except ImportError as error:
        raise ConfigurationError(needs_extra("containers need", "docker")) from error
    given = os.environ.get("DOCKER_HOST")
    try:
        context = None if given else ContextAPI.get_current_context()
        named = context is not None and context.name != "default"
        address = (context.Host if context is not None and named else given) or _DEFAULT_ENGINE
        if address.startswith("unix://") and hasattr(socket, "AF_UNIX"):
            _knock(address.removeprefix("unix://"))
        if context is not None and named:
            return docker.DockerClient(base_url=context.Host, tls=context.TLSConfig, timeout=_ENGINE_LIMIT_S)
        return docker.DockerClient.from_env(timeout=_ENGINE_LIMIT_S)
    except (DockerException, OSError) as error:
        raise ConfigurationError(
            f"no container engine answers{f' at {given}' if given else ''}: start Docker, or name its address in "
            f"DOCKER_HOST ({error})"
        ) from error


def _knock(path: str) -> None:
    """Connect to a socket of this machine. The SDK would ask, too, and not say as plainly why it cannot."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_KNOCK_LIMIT_S)
        probe.connect(path)


def has_image(engine: "DockerClient", name: str) -> bool:
    """Whether the engine has an image, without asking a registry."""
    return bool(engine.images.list(name=name))


def sweep(engine: "DockerClient") -> int:
    """Remove the containers that processes of this machine have left behind, killed before they could; returns how
    many there were."""
    removed = 0
    with contextlib.suppress(*engine_errors()):
        for found in engine.containers.list(all=True, filters={"label": f"{HOST_LABEL}={host_identity()}"}):
            if is_abandoned(found.labels):
                _log.info("removing container %s, which a process that is gone has left behind", found.name)
                with contextlib.suppress(*engine_errors()):
                    found.remove(force=True, v=True)
                    removed += 1
    return removed


def engine_errors() -> tuple[type[Exception], ...]:
    """What a call to the engine can raise: its refusals, and a connection that breaks."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    return DockerException, RequestException


@contextlib.contextmanager
def refusals(image: str) -> Iterator[None]:
    """Engine errors as errors of ours, with what to do."""
    from docker.errors import APIError

    try:
        yield
    except APIError as error:
        told = error.explanation or str(error)
        taken = "already allocated" in told or "already in use" in told
        hint = "; choose another port" if taken else ""
        raise ConfigurationError(f"the container engine refuses {image!r}: {told}{hint}") from error
    except engine_errors() as error:
        raise ConfigurationError(f"the container engine failed over {image!r}: {error}") from error
