"""The awaiting client."""

import asyncio
import contextlib
import functools
import os
import weakref
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.protocol import State

from openenv_core.client import _aio_spares
from openenv_core.client._base import ClientBase, connection_error, connector_arguments
from openenv_core.client._effects import Connect, ConnectionGoneError, Drop, Effect, Flow, Receive, Release, Send
from openenv_core.client._flow import SessionFlow
from openenv_core.errors import MessageTooLargeError
from openenv_core.types import StepResult
from openenv_core.wire.calls import Calls
from openenv_core.wire.frames import HelloData

__all__ = ["AsyncEnvClient"]

ActionT = TypeVar("ActionT")
ObservationT = TypeVar("ObservationT")
StateT = TypeVar("StateT")


class _Line:
    """What an awaiting client holds of the network, and nothing of the client: a finalizer may own it."""

    socket: ClientConnection | None = None
    loop: asyncio.AbstractEventLoop | None = None

    def __init__(self) -> None:
        self._process = os.getpid()

    def abort(self) -> None:
        """End the connection without a word; one of the process that this one was forked from is let be."""
        stale, self.socket = self.socket, None
        if self._process != os.getpid():
            self._process = os.getpid()
            return
        if stale is not None and stale.transport is not None:
            with contextlib.suppress(RuntimeError):
                stale.transport.abort()


def _farewell(line: _Line, flow: SessionFlow) -> None:
    """The client is gone without a ``close()``: end its session all the same. Nobody waits for that."""
    if line.socket is None or line.loop is None:
        return
    last_words = [effect.message for effect in flow.close(wait=False) if isinstance(effect, Send)]
    with contextlib.suppress(RuntimeError):  # its loop has ended, and the connection with it
        line.loop.call_soon_threadsafe(_aio_spares.part, line.socket, last_words)


@functools.lru_cache(maxsize=256)
def _twin_of(cls: Any, types: Any) -> Any:
    """The class of a twin, made once: a trainer makes a client for every rollout."""
    names = ("action_type", "observation_type", "state_type")
    return type(f"Async{types.__name__}", (cls,), {name: getattr(types, name) for name in names})


class AsyncEnvClient(ClientBase, Generic[ActionT, ObservationT, StateT]):
    """One session with an environment on a server, for ``async`` code. The twin of
    :class:`~openenv_core.client.sync.EnvClient`: the same names, the same arguments, the same errors.

    Calls on one client are serialized. A client belongs to the event loop of its last call; in another loop it connects
    anew, and goes on with its session where the server keeps sessions.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arguments = args, kwargs
        self._line = _Line()
        self._turn = asyncio.Lock()
        weakref.finalize(self, _farewell, self._line, self._flow)

    __init__.__doc__ = ClientBase.__init__.__doc__

    @classmethod
    def of_types(cls, types: type[ClientBase], *args: Any, **kwargs: Any) -> Self:
        """A client with the three types of another client class."""
        base: Any = cls
        typed: Any = types
        made = _twin_of(base, typed)
        client: Self = made(*args, **kwargs)
        return client

    async def connect(self) -> Self:
        """As :meth:`EnvClient.connect`."""
        await self._run(self._flow.connect())
        return self

    async def disconnect(self) -> None:
        """The same as :meth:`close`."""
        await self.close()

    async def reset(self, **options: Any) -> StepResult[ObservationT]:
        """As :meth:`EnvClient.reset`."""
        result: StepResult[ObservationT] = await self._run(self._flow.reset(options))
        return result

    async def step(self, action: ActionT, *, timeout_s: float | None = None) -> StepResult[ObservationT]:
        """As :meth:`EnvClient.step`."""
        result: StepResult[ObservationT] = await self._run(self._flow.step(self._typed_action(action), timeout_s))
        return result

    async def state(self) -> StateT:
        """As :meth:`EnvClient.state`."""
        state: StateT = await self._run(self._flow.state())
        return state

    async def close(self) -> None:
        """As :meth:`EnvClient.close`."""
        await self._run(self._flow.close(), starts_server=False)
        await self._drop()
        if self._owns_server:
            await asyncio.to_thread(self._stop_server)

    async def new_session(self) -> Self:
        """As :meth:`EnvClient.new_session`."""
        return await type(self)(**self._arguments_of_sibling(*self._arguments)).connect()

    async def __aenter__(self) -> Self:
        return await self.connect()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, flow: Flow, *, starts_server: bool = True) -> Any:
        if self._line.loop is not asyncio.get_running_loop():
            self._move()
        async with self._turn:
            if starts_server and self._base_url is None:
                await asyncio.to_thread(self._start_server)
            try:
                effect: Effect = flow.send(None)
                while True:
                    try:
                        came = await self._perform(effect)
                    except (ConnectionGoneError, OSError, RuntimeError) as error:
                        effect = flow.throw(error)
                    else:
                        effect = flow.send(came)
            except StopIteration as end:
                return end.value
            finally:
                if not self._flow.connected:
                    self._line.abort()  # given up amid opening: what it was to carry must not stay open for nobody

    def _move(self) -> None:
        """Another loop runs than at the last call: its socket cannot be used here, and may be dead with its loop."""
        self._line.loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._line.abort()

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Connect):
            return await self._connect()
        if isinstance(effect, Release):
            return await self._release(effect.hello)
        if isinstance(effect, Drop):
            return await self._drop()
        if not isinstance(effect, Send | Receive):
            return await asyncio.sleep(effect.seconds)
        socket = self._line.socket
        if socket is None:
            raise ConnectionGoneError
        try:
            if isinstance(effect, Send):
                return await socket.send(effect.message.decode())
            async with asyncio.timeout(effect.limit_s):
                return await socket.recv()
        except ConnectionClosed as closed:
            if isinstance(effect, Send):
                return None  # the last that the server said may be left to be received, and tell why
            raise self._gone(closed) from None

    async def _connect(self) -> Calls:
        await self._drop()
        spare = _aio_spares.take(self._connection_key)
        if spare is not None:
            self._line.socket, hello = spare
            calls = self._calls(self._line.socket.subprotocol)
            calls.hello = hello
            return calls
        try:
            socket = self._line.socket = await open_websocket(
                self._url,
                ping_interval=self._settings.websocket_ping_interval_s,
                ping_timeout=self._settings.websocket_ping_timeout_s,
                **connector_arguments(self._url, self._settings),
            )
        except (OSError, WebSocketException) as error:
            raise connection_error(self._url, error) from error
        return self._calls(socket.subprotocol)

    def _gone(self, closed: ConnectionClosed) -> Exception:
        sent, received = closed.sent, closed.rcvd
        if received is None and sent is not None and sent.code == 1009:
            limit = int(self._settings.max_message_size_mb * 2**20)
            return MessageTooLargeError(
                f"the server sent a message larger than this client accepts, {limit} bytes; raise max_message_size_mb "
                f"({sent.reason})",
                limit=limit,
            )
        if received is not None:
            return ConnectionGoneError(received.code, received.reason)
        return ConnectionGoneError(reason=sent.reason if sent is not None else "")

    async def _release(self, hello: HelloData) -> None:
        """Leave the socket to the next client with the same arguments, if it is good; else close it."""
        found = self._line.socket
        if found is not None and found.state is State.OPEN:
            self._line.socket = None
            if await _aio_spares.keep(self._connection_key, found, hello):
                return
            self._line.socket = found
        await self._drop()

    async def _drop(self) -> None:
        found, self._line.socket = self._line.socket, None
        if found is not None:
            # The closing handshake is a courtesy: a peer that does not answer must not hold anybody up.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(1.0):
                    await found.close()
