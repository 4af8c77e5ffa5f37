"""The blocking client."""

import contextlib
import functools
import threading
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect as open_websocket

from openenv_core.client._base import ClientBase, connection_error, connector_arguments
from openenv_core.client._effects import Connect, ConnectionGoneError, Drop, Effect, Flow, Receive, Release, Send
from openenv_core.client._flow import SessionFlow
from openenv_core.client._socket import BlockingSocket
from openenv_core.client._spares import spares
from openenv_core.errors import ConfigurationError
from openenv_core.types import StepResult
from openenv_core.wire.calls import Calls
from openenv_core.wire.frames import HelloData

if TYPE_CHECKING:
    from openenv_core.client.aio import AsyncEnvClient
    from openenv_core.client.batch import BatchClient
    from openenv_core.client.starting import Starting

__all__ = ["Driver", "EnvClient"]

ActionT = TypeVar("ActionT")
ObservationT = TypeVar("ObservationT")
StateT = TypeVar("StateT")


class Driver:
    """Performs what flows yield, blocking. Holds the socket, and nothing of the client: a finalizer may own it."""

    def __init__(self) -> None:
        self.socket: BlockingSocket | None = None
        self.lock = threading.RLock()

    def run(self, flow: Flow, client: ClientBase | None = None) -> Any:
        """Run a flow to its end and return what it returns."""
        try:
            effect: Effect = flow.send(None)
            while True:
                effect = self.advance(flow, effect, client)
        except StopIteration as end:
            return end.value

    def advance(self, flow: Flow, effect: Effect, client: ClientBase | None) -> Effect:
        """Perform one effect and return the next. ``StopIteration`` carries the flow's value out."""
        try:
            came = self._perform(effect, client)
        except (ConnectionGoneError, OSError, RuntimeError) as error:
            return flow.throw(error)
        return flow.send(came)

    def _perform(self, effect: Effect, client: ClientBase | None) -> Any:
        if isinstance(effect, Send | Receive):
            found = self.live_socket()
            return found.send(effect.message) if isinstance(effect, Send) else found.receive(effect.limit_s)
        if isinstance(effect, Connect):
            assert client is not None
            return self.connect(client)
        if isinstance(effect, Drop):
            return self.drop()
        if isinstance(effect, Release):
            return self.release(client, effect.hello)
        return threading.Event().wait(effect.seconds)

    def live_socket(self) -> BlockingSocket:
        """The socket. Raises ``ConnectionGoneError`` where there is none, or only one of the parent process."""
        if self.socket is None or self.socket.inherited:
            raise ConnectionGoneError
        return self.socket

    def connect(self, client: ClientBase) -> Calls:
        """Open a socket as the client's arguments say, in place of the one before."""
        self.drop()
        url, settings = client._url, client._settings
        spare = spares.take(client._connection_key, self.lock)
        if spare is not None:
            self.socket, hello = spare
            calls = client._calls(self.socket.subprotocol)
            calls.hello = hello
            return calls
        make: Any = functools.partial(BlockingSocket, lock=self.lock)
        try:
            found: Any = open_websocket(url, create_connection=make, legacy=True, **connector_arguments(url, settings))
        except (OSError, WebSocketException) as error:
            raise connection_error(url, error) from error
        self.socket = found
        found.keep_alive(settings)
        return client._calls(found.subprotocol)

    def release(self, client: ClientBase | None, hello: HelloData) -> None:
        """Leave the socket to the next client with the same arguments, if it is good; else close it."""
        found = self.socket
        if client is None or found is None or found.ended or found.inherited:
            self.drop()
            return
        self.socket = None
        spares.put(client._connection_key, found, hello)

    def drop(self) -> None:
        """Close the socket, if there is one."""
        found, self.socket = self.socket, None
        if found is not None:
            found.close()


def _farewell(driver: Driver, flow: SessionFlow) -> None:
    """The client is gone without a ``close()``: end its session all the same, without waiting for anything."""
    if driver.socket is not None and driver.lock.acquire(blocking=False):
        try:
            with contextlib.suppress(Exception):
                driver.run(flow.close(wait=False))
            driver.drop()
        finally:
            driver.lock.release()


class EnvClient(ClientBase, Generic[ActionT, ObservationT, StateT]):
    """One session with an environment on a server, for blocking code.

    Works in plain code, in notebooks and inside a running event loop, from any thread; calls on one client are
    serialized. A connection that breaks is mended where the server keeps sessions (protocol version 2): the call in
    flight is neither lost nor run twice. What is lost is lost loudly: ``step`` and ``state`` raise ``SessionLostError``
    until the next ``reset``, which opens a new session.

    A typed client is a subclass with ``action_type``, ``observation_type`` and ``state_type``.
    """

    _ws: ClassVar[None] = None
    """Public scripts look here for a socket whose limit of message size they raise, and skip that where there is none:
    ours has the limit it needs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arguments = args, kwargs
        self._driver = Driver()
        self._twin: AsyncEnvClient[ActionT, ObservationT, StateT] | None = None
        weakref.finalize(self, _farewell, self._driver, self._flow)

    __init__.__doc__ = ClientBase.__init__.__doc__

    @classmethod
    def aio(cls, *args: Any, **kwargs: Any) -> "AsyncEnvClient[ActionT, ObservationT, StateT]":
        """The awaiting twin of this client, with the same types and arguments."""
        from openenv_core.client.aio import AsyncEnvClient

        return AsyncEnvClient.of_types(cls, *args, **kwargs)

    @classmethod
    def batch(cls, base_url: str, sessions: int, **kwargs: Any) -> "BatchClient[ActionT, ObservationT, StateT]":
        """Many sessions of this client's types, stepped together: a
        :class:`~openenv_core.client.batch.BatchClient`."""
        from openenv_core.client.batch import BatchClient

        return BatchClient(base_url, sessions, types=cls, **kwargs)

    @classmethod
    def from_docker_image(
        cls,
        image: str,
        provider: Any = None,
        *,
        env_vars: Mapping[str, str] | None = None,
        port: int | None = None,
        ports: Mapping[int, int] | None = None,
        network: str | None = None,
        memory: int | str | None = None,
        cpus: float | None = None,
        start_limit_s: float = 120.0,
        **arguments: Any,
    ) -> "Starting[ActionT, ObservationT, StateT]":
        """A client with a server of its own, in a container of this machine; needs the extra ``docker``.

        Nothing is started before the handle that this returns is used: ``with handle as env``, ``handle.sync()``,
        ``await handle``, ``async with handle as env``. Closing the client ends and removes the container.

        Args:
            image: its name.
            provider: starts the container in place of :class:`~openenv_core.runtimes.docker.DockerRuntime`: anything
                with ``start_container(image, **options)``, ``wait_for_ready(base_url)`` and ``stop_container()``.
            env_vars: environment variables of the server. The client sends the token that ``OPENENV_TOKEN`` sets.
            port, ports, network, memory, cpus, start_limit_s: as of ``DockerRuntime``.
            **arguments: of this class, as ``message_timeout_s=120``.
        """
        from openenv_core.client.starting import starting_in_container

        options = {
            "env_vars": env_vars,
            "port": port,
            "ports": ports,
            "network": network,
            "memory": memory,
            "cpus": cpus,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return starting_in_container(cls, image, provider, given, start_limit_s, arguments)

    @classmethod
    def from_space(
        cls,
        space: str,
        source: str | None = None,
        *,
        use_docker: bool | None = None,
        token: str | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
        env_vars: Mapping[str, str] | None = None,
        start_limit_s: float = 300.0,
        **arguments: Any,
    ) -> "Starting[ActionT, ObservationT, StateT]":
        """A client of a Hugging Face Space, as a handle like that of :meth:`from_docker_image`.

        Args:
            space: ``"owner/name"``.
            source: ``"url"``, the default: the Space itself, as it runs on the Hub. ``"image"``: its image from the
                Hub's registry, in a container of this machine; needs the extra ``docker``. ``"git"``: its repository,
                installed into an environment of its own and run here as a process: somebody else's code, with your
                rights.
            use_docker: the public package's words for ``"image"`` (``True``) and ``"git"`` (``False``).
            token: of the Hub, for a private Space. Sent to the Hub and to this Space, and only where it is given.
            revision: the commit to install, for ``"git"``; or the tag of the image (default ``latest``).
            trust_remote_code: must be ``True`` for ``"git"``.
            env_vars: environment variables of a server that is started here.
            start_limit_s: the server must be ready within so many seconds; a Space that sleeps takes a while to wake.
            **arguments: of this class.
        """
        from openenv_core.client.starting import starting_in_space

        if source is None:
            source = "url" if use_docker is None else "image" if use_docker else "git"
        options = {"token": token, "revision": revision, "env_vars": env_vars, "start_limit_s": start_limit_s}
        return starting_in_space(cls, space, source, {**options, "trust_remote_code": trust_remote_code}, arguments)

    @classmethod
    def from_env(cls, *args: Any, **kwargs: Any) -> "Starting[ActionT, ObservationT, StateT]":
        """The same as :meth:`from_space`, by the name that the public package has for it."""
        return cls.from_space(*args, **kwargs)

    @classmethod
    def from_hub(cls, *args: Any, **kwargs: Any) -> "Starting[ActionT, ObservationT, StateT]":
        """The same as :meth:`from_space`."""
        return cls.from_space(*args, **kwargs)

    def connect(self) -> Self:
        """Open the connection and the session now, rather than at the first call.

        Raises:
            ConnectionFailedError: no connection could be made.
            UnauthorizedError: the server wants a token, or another one.
            CapacityReachedError: the server is full, and stayed so for ``wait_for_capacity_s``.
        """
        self._run(self._flow.connect())
        return self

    def disconnect(self) -> None:
        """The same as :meth:`close`."""
        self.close()

    def reset(self, **options: Any) -> StepResult[ObservationT]:
        """Start an episode, in a new session where the last one is lost.

        Args:
            **options: what the environment's ``reset`` takes; ``seed`` and ``episode_id`` with every environment.

        Raises:
            ValidationFailedError, UnknownResetOptionError: an option does not fit; the session lives.
            OpenEnvError: as :meth:`connect` and :meth:`step`.
        """
        result: StepResult[ObservationT] = self._run(self._flow.reset(options))
        return result

    def step(self, action: ActionT, *, timeout_s: float | None = None) -> StepResult[ObservationT]:
        """Do one action.

        Args:
            timeout_s: a limit for this step alone, which the server keeps, too.

        Raises:
            SessionLostError: the session is gone, and the episode with it; ``reset`` starts anew.
            EpisodeNotStartedError, EpisodeOverError: nothing ran.
            ValidationFailedError: the action does not fit its type.
            EnvironmentFailedError: the environment's own code is at fault.
            CallTimeoutError: no reply came within ``message_timeout_s``.
        """
        result: StepResult[ObservationT] = self._run(self._flow.step(self._typed_action(action), timeout_s))
        return result

    def state(self) -> StateT:
        """What the environment tells of itself. Raises as :meth:`step` does."""
        state: StateT = self._run(self._flow.state())
        return state

    def close(self) -> None:
        """End the session and the connection. Never connects, never fails; may be called more than once."""
        with self._driver.lock:
            self._driver.run(self._flow.close(), self)
            self._driver.drop()
            self._stop_server()

    def new_session(self) -> Self:
        """Another client of the same class and arguments, connected."""
        return type(self)(**self._arguments_of_sibling(*self._arguments)).connect()

    def sync(self) -> Self:
        """This client: it is the blocking one."""
        return self

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> "AsyncEnvClient[ActionT, ObservationT, StateT]":
        if self.session_id is not None:
            raise ConfigurationError("this client is in use already; make another one for async with")
        args, kwargs = self._arguments
        self._twin = type(self).aio(*args, **kwargs)
        return await self._twin.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._twin is not None
        await self._twin.__aexit__(kind, error, trace)

    def _run(self, flow: Flow) -> Any:
        with self._driver.lock:
            self._start_server()
            try:
                return self._driver.run(flow, self)
            finally:
                if not self._flow.connected:
                    self._driver.drop()  # given up amid opening: what it was to carry must not stay open for nobody
