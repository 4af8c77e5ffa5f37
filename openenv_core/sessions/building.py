"""Building environments: so many at a time, within a deadline, and one for the questions that belong to no session.
Whoever builds them knows best whether a server is of use."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from openenv_core.backends.base import Backend, EnvironmentCrashedError, EnvironmentHandle
from openenv_core.backends.parcels import RaisedInWorkerError
from openenv_core.errors import EnvironmentFactoryError, EnvironmentFailedError, OpenEnvError, UnsupportedOperationError
from openenv_core.settings import ServerSettings

__all__ = ["Builder", "Catalog"]

_log = logging.getLogger(__name__)

_UNHEALTHY_AFTER = 3
"""So many constructions in a row must fail; a single one may be the fault of what its session asked for."""


class Builder:
    """Builds environments, ``max_constructing`` at a time and each within ``construct_deadline_s``.

    Args:
        factory: makes one environment object.
        backend: where the objects run.
        settings: the two limits.
    """

    def __init__(self, factory: Callable[[], Any], backend: Backend, settings: ServerSettings) -> None:
        self._factory = factory
        self._backend = backend
        self._limit_s = settings.construct_deadline_s
        self._places = asyncio.Semaphore(settings.max_constructing)
        self._starting: asyncio.Task[None] | None = None
        self._failures = 0

    @property
    def status(self) -> Literal["starting", "healthy", "unhealthy"]:
        """Whether environments can be built: not yet, yes, or not any more."""
        if self._starting is not None and not self._starting.done():
            return "starting"
        return "healthy" if self._failures < _UNHEALTHY_AFTER else "unhealthy"

    def start(self) -> "asyncio.Task[None]":
        """Begin to get the backend ready; what is built waits for that. May be called more than once."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        return self._starting

    async def _start(self) -> None:
        try:
            await self._backend.start()
        except Exception:  # noqa: BLE001 - of the environment's module, when it is imported
            # Whoever opens a session tries again, and is told.
            _log.exception("%s cannot be made ready to be built", self.factory_name)
            self._failures = _UNHEALTHY_AFTER

    async def stop(self) -> None:
        """Stop the backend."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._backend.stop()

    @property
    def factory_name(self) -> str:
        """What to call the factory in a message."""
        return getattr(self._factory, "__name__", type(self._factory).__name__)

    async def begin(
        self, spawn: "Callable[[Coroutine[Any, Any, EnvironmentHandle]], asyncio.Task[EnvironmentHandle]]"
    ) -> "asyncio.Task[EnvironmentHandle]":
        """Wait until one more may be under construction; returns the task that builds it.

        Args:
            spawn: makes that task, which carries on whatever becomes of the caller.
        """
        await asyncio.shield(self.start())
        await self._places.acquire()
        return spawn(self._build())

    async def _build(self) -> EnvironmentHandle:
        deadline = asyncio.timeout(self._limit_s)
        try:
            async with deadline:
                handle = await self._backend.open(self._factory)
        except Exception as error:
            self._failures += 1
            error_id = secrets.token_hex(4)
            told = f"failed within {self._limit_s:g} s" if deadline.expired() else "failed"
            _log.exception(
                "%s %s to build an environment (error %s)",
                *(self.factory_name, told, error_id),
                extra={"error_id": error_id},
            )
            cause = f"not within {self._limit_s:g} s" if deadline.expired() else _in_words(error)
            raise EnvironmentFactoryError(
                f"Environment factory '{self.factory_name}' failed to create instance: {cause}",
                factory_name=self.factory_name,
                error_id=error_id,
            ) from error
        else:
            self._failures = 0
            return handle
        finally:
            self._places.release()


def _in_words(error: Exception) -> str:
    if isinstance(error, OpenEnvError):
        return error.message
    # Of a class that the server's process does not have there is the text alone.
    named = "" if isinstance(error, RaisedInWorkerError) else f"{type(error).__name__}: "
    return f"{named}{error}".removesuffix(": ")


class Catalog:
    """The one environment that answers what belongs to no session: metadata, tasks. Built when it is first asked.

    Args:
        builder: builds it, in the same place as any other.
        limit_s: seconds for one answer.
    """

    def __init__(self, builder: Builder, *, limit_s: float) -> None:
        self._builder = builder
        self._limit_s = limit_s
        self._turn = asyncio.Lock()
        self._handle: EnvironmentHandle | None = None

    async def ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Run a method. One question at a time.

        Raises:
            EnvironmentFactoryError: the environment could not be built.
            UnsupportedOperationError: its class has no such method.
            EnvironmentFailedError: the method took too long, or took its process down; the next call has a new object.
            Exception: whatever the method raised.
        """
        async with self._turn:
            if self._handle is None:
                self._handle = await (await self._builder.begin(asyncio.create_task))
            if method not in self._handle.traits.methods:
                raise UnsupportedOperationError(f"{method} is not supported for this environment")
            return await self._call(self._handle, method, arguments)

    async def _call(self, handle: EnvironmentHandle, method: str, arguments: tuple[Any, ...]) -> Any:
        deadline = asyncio.timeout(self._limit_s)
        try:
            async with deadline:
                return await handle.call(method, *arguments)
        except EnvironmentCrashedError as error:
            self._handle = None
            raise EnvironmentFailedError(f"{method} ended the environment: {error}") from error
        except TimeoutError:
            if not deadline.expired():
                raise
        self._handle = None
        handle.abandon()
        raise EnvironmentFailedError(f"{method} took longer than {self._limit_s:g} s")

    async def close(self) -> None:
        """Close the environment, if there is one."""
        handle, self._handle = self._handle, None
        if handle is not None:
            await handle.close()
