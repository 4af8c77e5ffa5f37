"""Clients whose server is yet to be started: handles that are awaited, or asked for a blocking client."""

from collections.abc import Callable, Coroutine, Generator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from openenv_core.errors import ConfigurationError

if TYPE_CHECKING:
    from openenv_core.client.aio import AsyncEnvClient
    from openenv_core.client.sync import EnvClient

__all__ = ["BoundProvider", "Runtime", "RuntimeProvider", "Starting", "starting_in_container", "starting_in_space"]

ActionT = TypeVar("ActionT")
ObservationT = TypeVar("ObservationT")
StateT = TypeVar("StateT")


class Runtime(Protocol):
    """Where a server runs."""

    def start(self) -> str:
        """Start the server, wait until it is ready, and return its address."""

    def stop(self) -> None:
        """End it."""


class RuntimeProvider:
    """A runtime by the verbs that a client's ``provider`` has."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def start_container(self) -> str:
        """Start the server, which is ready then."""
        return self._runtime.start()

    def wait_for_ready(self, base_url: str) -> None:
        """Nothing is left to wait for."""

    def stop_container(self) -> None:
        """End the server."""
        self._runtime.stop()


class BoundProvider:
    """A provider of the public package's kind, with what it is to start."""

    def __init__(self, provider: Any, image: str, options: Mapping[str, Any]) -> None:
        self._provider, self._image, self._options = provider, image, dict(options)

    def start_container(self) -> str:
        """Have the provider start the image."""
        address: str = self._provider.start_container(self._image, **self._options)
        return address

    def wait_for_ready(self, base_url: str) -> None:
        """Have the provider wait for the server."""
        self._provider.wait_for_ready(base_url)

    def stop_container(self) -> None:
        """Have the provider stop the container."""
        self._provider.stop_container()


class Starting(
    Coroutine[Any, Any, "AsyncEnvClient[ActionT, ObservationT, StateT]"], Generic[ActionT, ObservationT, StateT]
):
    """A client whose server is started when the client is asked for: once, in one of these ways.

    ``await handle`` and ``async with handle as env`` give the awaiting client, ``handle.sync()`` and
    ``with handle as env`` the blocking one. The client owns the server: closing the client ends it.

    Args:
        types: the client's class.
        make_provider: makes what starts the server. Called when the handle is used, not before.
        arguments: for the client's constructor.
    """

    def __init__(
        self,
        types: "type[EnvClient[ActionT, ObservationT, StateT]]",
        make_provider: Callable[[], Any],
        arguments: Mapping[str, Any],
    ) -> None:
        self._types = types
        self._make_provider = make_provider
        self._arguments = dict(arguments)
        self._taken = False
        self._coroutine: Coroutine[Any, Any, AsyncEnvClient[ActionT, ObservationT, StateT]] | None = None
        self._client: Any = None

    def sync(self) -> "EnvClient[ActionT, ObservationT, StateT]":
        """Start the server and return a connected blocking client.

        Raises:
            ConfigurationError: the handle has been used already.
            OpenEnvError: as the runtime's ``start`` and the client's ``connect``.
        """
        self._take()
        client = self._types(provider=self._make_provider(), **self._arguments)
        try:
            return client.connect()
        except BaseException:
            client.close()
            raise

    async def _awaiting(self) -> "AsyncEnvClient[ActionT, ObservationT, StateT]":
        self._take()
        client = self._types.aio(provider=self._make_provider(), **self._arguments)
        try:
            return await client.connect()
        except BaseException:
            await client.close()
            raise

    def _take(self) -> None:
        if self._taken:
            raise ConfigurationError("this handle has started its server already; each starts one, make another")
        self._taken = True

    def __await__(self) -> Generator[Any, Any, "AsyncEnvClient[ActionT, ObservationT, StateT]"]:
        return self._awaiting().__await__()

    # A coroutine of its own right, so that asyncio.run and create_task take it. Made late: one that nobody awaits would
    # be complained of.

    def _own(self) -> "Coroutine[Any, Any, AsyncEnvClient[ActionT, ObservationT, StateT]]":
        if self._coroutine is None:
            self._coroutine = self._awaiting()
        return self._coroutine

    def send(self, value: Any) -> Any:
        """As of any coroutine."""
        return self._own().send(value)

    def throw(self, *error: Any) -> Any:
        """As of any coroutine."""
        return self._own().throw(*error)

    def close(self) -> None:
        """As of any coroutine."""
        if self._coroutine is not None:
            self._coroutine.close()

    def __enter__(self) -> "EnvClient[ActionT, ObservationT, StateT]":
        client = self._client = self.sync()
        return client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    async def __aenter__(self) -> "AsyncEnvClient[ActionT, ObservationT, StateT]":
        client = self._client = await self._awaiting()
        return client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()


def starting_in_container(
    types: "type[EnvClient[ActionT, ObservationT, StateT]]",
    image: str,
    provider: Any,
    options: Mapping[str, Any],
    start_limit_s: float,
    arguments: Mapping[str, Any],
) -> Starting[ActionT, ObservationT, StateT]:
    """The handle of a client whose server will run in a container: the provider's, or one of this machine."""

    def make() -> Any:
        if provider is not None:
            return BoundProvider(provider, image, options)
        from openenv_core.runtimes.docker import DockerRuntime

        return RuntimeProvider(DockerRuntime(image, start_limit_s=start_limit_s, **options))

    own_token = (options.get("env_vars") or {}).get("OPENENV_TOKEN")
    return Starting(types, make, {**({"token": own_token} if own_token else {}), **arguments})


def starting_in_space(
    types: "type[EnvClient[ActionT, ObservationT, StateT]]",
    space: str,
    source: str,
    options: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Starting[ActionT, ObservationT, StateT]:
    """The handle of a client of a Space.

    Raises:
        ConfigurationError: the name is none, or an option does not go with the source.
    """
    from openenv_core.runtimes.space import check_space, space_runtime

    check_space(space, source, options)
    token = options["token"] if source == "url" else (options["env_vars"] or {}).get("OPENENV_TOKEN")
    given = {**({"token": token} if token else {}), **arguments}
    return Starting(types, lambda: RuntimeProvider(space_runtime(space, source, options)), given)
