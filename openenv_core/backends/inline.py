"""Calls on the server's own event loop, for environments that never block."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from openenv_core.backends.base import Backend, EnvironmentCrashedError, EnvironmentHandle
from openenv_core.environment import traits_of

__all__ = ["InlineBackend", "InlineHandle"]

_log = logging.getLogger(__name__)


class InlineHandle(EnvironmentHandle):
    """An environment on the loop. ``async`` methods are awaited, the others run at once."""

    def __init__(self, environment: Any) -> None:
        self.traits = traits_of(type(environment))
        self._environment = environment
        self._closed = False
        self._caller: asyncio.Task[Any] | None = None
        self._closing: asyncio.Task[None] | None = None

    def immediate(self, verb: str) -> Callable[..., Any] | None:
        found = inspect.getattr_static(type(self._environment), verb, None)
        if isinstance(found, property):
            return None if inspect.iscoroutinefunction(found.fget) else lambda: getattr(self._environment, verb)
        value = getattr(self._environment, verb, None)
        return value if callable(value) and not inspect.iscoroutinefunction(found) else None

    async def call(self, verb: str, /, *args: Any, **kwargs: Any) -> Any:
        caller: asyncio.Task[Any] | None = None
        try:
            value = getattr(self._environment, verb)
            if callable(value):
                value = value(*args, **kwargs)
            if not inspect.isawaitable(value):
                return value
            self._caller = caller = asyncio.current_task()
            return await value
        except SystemExit as error:
            raise _stay(error) from error
        except asyncio.CancelledError:
            if self._closing is None or caller is None:
                raise
            caller.uncancel()
            raise EnvironmentCrashedError("the call did not return and has been given up") from None
        finally:
            if self._caller is caller:
                self._caller = None

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self.traits.close is None:
            return
        try:
            await self.call(self.traits.close)
        except Exception:  # noqa: BLE001 - an environment's close may raise anything; the slot is freed all the same
            _log.exception("close of %s failed", self.traits.name)

    def abandon(self) -> None:
        """Cancel the ``async`` call that does not return, and close the environment; a plain one never blocks."""
        if self._closed or self._closing is not None:
            return
        self._closing = asyncio.create_task(self.close())
        if self._caller is not None:
            self._caller.cancel()


class InlineBackend(Backend):
    """Environments live on the event loop: microseconds a call, and a call that blocks stops the whole server."""

    name = "inline"

    async def open(self, factory: Callable[[], Any]) -> EnvironmentHandle:
        try:
            environment = factory()
            return InlineHandle(await environment if inspect.isawaitable(environment) else environment)
        except SystemExit as error:
            raise _stay(error) from error


def _stay(error: SystemExit) -> RuntimeError:
    """An environment cannot end the server: on the event loop, ``SystemExit`` would."""
    return RuntimeError(f"SystemExit: {error}")
