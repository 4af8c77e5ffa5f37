"""An environment object called directly, without a server in between."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from pydantic import TypeAdapter

from openenv_core.backends.inline import InlineHandle
from openenv_core.conformance.records import text_of
from openenv_core.environment import EnvironmentSpec
from openenv_core.errors import CallTimeoutError

__all__ = ["DirectObject", "with_object"]

ValueT = TypeVar("ValueT")


class DirectObject:
    """One environment object, called as its backend would call it: awaited where it is ``async``.

    Args:
        spec: makes the object.
        runner: runs what is ``async``.
        begin: told whenever a call begins.
    """

    def __init__(self, spec: EnvironmentSpec, runner: asyncio.Runner, begin: Callable[[], None]) -> None:
        self._runner = runner
        self._begin = begin
        self._action: TypeAdapter[Any] = TypeAdapter(spec.action_type)
        begin()
        made = spec.factory()
        self._handle = InlineHandle(runner.run(made) if asyncio.iscoroutine(made) else made)
        self._traits = self._handle.traits
        self.was_closed = False

    def reset(self, **options: Any) -> Any:
        """Start an episode, with those of the options that the method takes."""
        return self._call(self._traits.reset, **self._traits.reset_options.check(options))

    def step(self, action: dict[str, Any]) -> Any:
        """Do an action, given as plain values."""
        return self._call(self._traits.step, self._action.validate_json(text_of(action)))

    def close(self) -> None:
        """Call the object's own ``close``, however often this is called."""
        self.was_closed = True
        if self._traits.close is not None:
            self._call(self._traits.close)

    def _call(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        self._begin()
        method = self._handle.immediate(verb)
        # Not on the loop where it need not be: some libraries refuse to work where one runs.
        if method is not None:
            return method(*args, **kwargs)
        return self._runner.run(self._handle.call(verb, *args, **kwargs))


def with_object(spec: EnvironmentSpec, use: Callable[[DirectObject], ValueT], *, limit_s: float) -> ValueT:
    """Make an object, use it and close it, all in one thread of its own.

    Args:
        limit_s: each call may take so many seconds.

    Raises:
        CallTimeoutError: one took longer; its thread is left behind.
        Exception: whatever ``use`` or the factory raised.
    """
    outcome: list[tuple[Any, BaseException | None]] = []
    began = [time.monotonic()]

    def run() -> None:
        try:
            with _object(spec, began) as made:
                outcome.append((use(made), None))
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, in whose thread it is raised
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="checked-object", daemon=True)
    thread.start()
    while thread.is_alive():
        left_s = began[0] + limit_s - time.monotonic()
        if left_s <= 0 and outcome:
            break  # it is the closing that does not end, and what was asked for is known
        if left_s <= 0:
            raise CallTimeoutError(f"a call of the object did not end within {limit_s:g} s", limit_s=limit_s)
        thread.join(left_s)
    value, error = outcome[0]
    if error is not None:
        raise error
    found: ValueT = value
    return found


@contextmanager
def _object(spec: EnvironmentSpec, began: list[float]) -> Iterator[DirectObject]:
    """An object, closed in the end. ``began[0]`` is always the moment in which its last call began."""

    def begin() -> None:
        began[0] = time.monotonic()

    with asyncio.Runner() as runner:
        made = DirectObject(spec, runner, begin)
        try:
            yield made
        finally:
            if not made.was_closed:
                with suppress(Exception):
                    made.close()
