"""A server in a container of this machine's engine. Needs the extra ``docker``."""

import contextlib
import ipaddress
import os
import re
import socket
import uuid
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from openenv_core.errors import ConfigurationError, ConnectionFailedError
from openenv_core.runtimes.engine import connect_engine, engine_errors, refusals, sweep
from openenv_core.runtimes.owners import owner_labels
from openenv_core.runtimes.readiness import is_ready, wait_until_ready

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container
    from docker.models.images import Image

__all__ = ["CONFINED_LABEL", "DockerRuntime"]

CONFINED_LABEL = "openenv.confined"
"""On an image whose containers need no privilege, no capability and nothing to write to but /tmp."""

_DEFAULT_PORT = 8000
_LOOPBACK = "127.0.0.1"


class DockerRuntime:
    """A container of an image, reached on the loopback interface of this machine alone.

    It is removed by :meth:`stop`, at the latest when this object or this process ends; what a killed process left is
    removed when the next runtime starts. Containers of images that say they can are run without privileges and
    capabilities, with nothing to write to but /tmp.

    Args:
        image: its name; pulled where the engine does not have it.
        env_vars: environment variables of the server.
        port: of this machine; default: a free one.
        ports: further ports to publish: of the container, to those of this machine.
        network: one of the engine's networks by its name; ``"host"`` for this machine's own.
        memory: most memory the container may have, in bytes or as ``"512m"``.
        cpus: most processors that it may use, as ``1.5``.
        command: in place of the image's own.
        registry_login: user and password for the registry from which the image is pulled.
        start_limit_s: the server must be ready within so many seconds.

    Attributes:
        base_url: the server's address, once it is started.
        image_labels: what the image says of itself, once it is started.
    """

    def __init__(
        self,
        image: str,
        *,
        env_vars: Mapping[str, str] | None = None,
        port: int | None = None,
        ports: Mapping[int, int] | None = None,
        network: str | None = None,
        memory: int | str | None = None,
        cpus: float | None = None,
        command: list[str] | None = None,
        registry_login: tuple[str, str] | None = None,
        start_limit_s: float = 120.0,
    ) -> None:
        if network == "none":
            raise ConfigurationError(
                'a server on the network "none" cannot be reached from here; an internal network keeps it off the '
                "internet and within reach: docker network create --internal NAME"
            )
        self.image = image
        self.base_url = ""
        self.image_labels: dict[str, str] = {}
        self._env_vars = dict(env_vars or {})
        self._port = port
        self._ports = dict(ports or {})
        self._network = network
        self._limits: dict[str, Any] = {}
        if memory is not None:
            self._limits["mem_limit"] = memory
        if cpus is not None:
            self._limits["nano_cpus"] = round(cpus * 1e9)
        self._command = command
        self._registry_login = registry_login
        self._start_limit_s = start_limit_s
        self._container: Container | None = None
        self._removal: weakref.finalize[Any, Any] | None = None

    @property
    def container_id(self) -> str:
        """The engine's name for the container; empty while there is none."""
        found = self._container
        return str(found.id) if found is not None else ""

    def start(self) -> str:
        """Start a container and wait until its server is ready; returns the server's address.

        Raises:
            ConfigurationError: no engine answers, there is no such image, or the engine refuses an argument.
            ConnectionFailedError: the server ended, or was not ready in time; the message holds the end of its log.
        """
        try:
            self.launch()
            self.wait_for_ready()
        except BaseException:
            self.stop(grace_s=0)
            raise
        return self.base_url

    def launch(self) -> str:
        """Start a container and return the server's address, without waiting for the server. Raises as
        :meth:`start`."""
        if self._container is not None:
            raise ConfigurationError(f"this runtime has started a container of {self.image} already")
        engine = connect_engine()
        try:
            sweep(engine)
            with refusals(self.image):
                image = self._find_image(engine)
                self.image_labels = dict(image.labels)
                container_port = self._container_port(image)
                container = engine.containers.create(image, self._command, **self._options(image, container_port))
        except BaseException:
            engine.close()
            raise
        self._container = container
        self._removal = weakref.finalize(self, _remove, container, os.getpid())
        with refusals(self.image):
            container.start()
        self.base_url = self._address(container, container_port)
        return self.base_url

    def wait_for_ready(self, limit_s: float | None = None) -> None:
        """Wait until the server is ready. Raises as :meth:`start`."""
        wait_until_ready(
            f"the container of {self.image}",
            lambda: is_ready(self.base_url),
            limit_s=self._start_limit_s if limit_s is None else limit_s,
            ended=self.why_ended,
            logs=self.logs,
        )

    def logs(self) -> str:
        """What the server has written so far."""
        if self._container is None:
            return ""
        with contextlib.suppress(*engine_errors()):
            return self._container.logs(tail=1000).decode(errors="replace")
        return ""

    def stop(self, grace_s: float = 20.0) -> None:
        """End the server, in order within ``grace_s`` seconds, and remove its container. Never fails; may be called
        more than once."""
        container, self._container = self._container, None
        if container is None:
            return
        if grace_s > 0:
            with contextlib.suppress(*engine_errors()):
                container.stop(timeout=round(grace_s))
        if self._removal is not None:
            self._removal()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _find_image(self, engine: "DockerClient") -> "Image":
        from docker.errors import DockerException, ImageNotFound

        with contextlib.suppress(ImageNotFound):
            return engine.images.get(self.image)
        login = self._registry_login
        credentials = {"username": login[0], "password": login[1]} if login is not None else None
        try:
            return engine.images.pull(self.image, auth_config=credentials)
        except DockerException as error:
            why = getattr(error, "explanation", None) or str(error)
            raise ConfigurationError(
                f"there is no image {self.image!r} here, and it cannot be pulled ({why}); `openenv build` makes images"
            ) from error

    def _container_port(self, image: "Image") -> int:
        """Where the server will listen in the container: as the variable ``PORT`` says, ours or the image's own."""
        own = dict(pair.partition("=")[::2] for pair in (image.attrs.get("Config") or {}).get("Env") or ())
        text = self._env_vars.get("PORT") or own.get("PORT") or str(_DEFAULT_PORT)
        if not text.isdigit():
            raise ConfigurationError(f"PORT={text!r} is not a port")
        return int(text)

    def _options(self, image: "Image", container_port: int) -> dict[str, Any]:
        confined = image.labels.get(CONFINED_LABEL) == "true"
        options: dict[str, Any] = {
            "name": f"openenv-{re.sub(r'[^a-z0-9]+', '-', self.image.rpartition('/')[2])}-{uuid.uuid4().hex[:8]}",
            "detach": True,
            "environment": dict(self._env_vars),
            "labels": owner_labels(),
            **self._limits,
        }
        if confined:
            options |= {"read_only": True, "tmpfs": {"/tmp": ""}, "cap_drop": ["ALL"]}
            options["security_opt"] = ["no-new-privileges"]
        else:
            options["init"] = True  # an image that is not ours may have nothing that reaps
        if self._network == "host":
            self._port = self._port or _free_port()
            options["network_mode"] = "host"
            options["environment"] |= {"PORT": str(self._port), "HOST": _LOOPBACK}
            return options
        if self._network is not None:
            options["network"] = self._network
        published = {container_port: self._port, **self._ports}
        options["ports"] = {f"{inside}/tcp": (_LOOPBACK, outside) for inside, outside in published.items()}
        return options

    def _address(self, container: "Container", container_port: int) -> str:
        if self._network == "host":
            return f"http://{_LOOPBACK}:{self._port}"
        container.reload()
        network = container.attrs["NetworkSettings"]
        for binding in network["Ports"].get(f"{container_port}/tcp") or ():
            return f"http://{_LOOPBACK}:{binding['HostPort']}"
        # An internal network publishes nothing; on Linux its containers are within this machine's reach all the same.
        own: str = next((each["IPAddress"] for each in network["Networks"].values() if each["IPAddress"]), "")
        if own and not ipaddress.ip_address(own).is_unspecified:
            return f"http://{own}:{container_port}"
        why = self.why_ended() or "got no address from the engine"
        raise ConnectionFailedError(f"the container of {self.image} {why}; the last of its log:\n{self.logs()}")

    def why_ended(self) -> str | None:
        """In a few words, why there is no server any more; ``None`` while there is one."""
        container = self._container
        if container is None:
            return "was stopped"
        try:
            container.reload()
        except engine_errors() as error:
            return f"is gone: {error}"
        state = container.attrs["State"]
        if state["Status"] not in ("exited", "dead", "removing"):
            return None
        killed = ", for want of memory" if state.get("OOMKilled") else ""
        return f"ended with exit code {state['ExitCode']}{killed}"


def _remove(container: "Container", pid: int) -> None:
    if os.getpid() != pid:
        return  # a fork of the process that owns it
    with contextlib.suppress(*engine_errors()):
        container.remove(force=True, v=True)
    if container.client is not None:
        container.client.close()


def _free_port() -> int:
    with socket.create_server((_LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])
