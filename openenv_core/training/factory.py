"""Factories of tool environments: what a trainer is given as ``environment_factory``."""

import asyncio
import functools
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from openenv_core.errors import CapacityReachedError, ConfigurationError
from openenv_core.training.monitor import Monitor
from openenv_core.training.schemas import tool_names, tool_problems
from openenv_core.training.tool_environment import FirstMessage, ToolCallError, ToolEnvironment
from openenv_core.wire.frames import HelloData

__all__ = ["EnvironmentFactory", "MultiEnvironment", "active", "environment_factory"]


class EnvironmentFactory:
    """Makes tool environments of one class at one server; call it without arguments. Can be pickled.

    ``with`` closes what it made at the end of the block.

    Attributes:
        tools: the class.
        base_url: the server.
        monitor: counts what becomes of the rollouts of this process.
    """

    def __init__(
        self,
        tools: type[ToolEnvironment[Any]],
        base_url: str,
        arguments: Mapping[str, Any],
        *,
        max_fault_rate: float = 0.5,
        fault_window: int = 100,
    ) -> None:
        problems = tool_problems(tools)
        if problems:
            raise ConfigurationError("; ".join(problems), problems=problems)
        self.tools = tools
        self.base_url = base_url
        self._arguments = dict(arguments)
        self._limits = {"max_fault_rate": max_fault_rate, "window": fault_window}
        self._made: weakref.WeakSet[ToolEnvironment[Any]] = weakref.WeakSet()
        self.monitor = Monitor(tools.__name__, max_fault_rate=max_fault_rate, window=fault_window)

    @property
    def __name__(self) -> str:
        """Trainers and their logs ask a callable for its name."""
        return self.tools.__name__

    def __call__(self) -> ToolEnvironment[Any]:
        """A new tool environment; it connects at its first reset."""
        made = self.tools(self.base_url, monitor=self.monitor, **self._arguments)
        self._made.add(made)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Counters and live connections belong to their process.
        limits = self._limits["max_fault_rate"], self._limits["window"]
        return _unpickled, (self.tools, self.base_url, self._arguments, *limits)

    def check(self, rollouts: int = 1) -> None:
        """See to it, before the first rollout, that the server is there and has room for ``rollouts`` at a time.

        Raises:
            ConfigurationError: it has not; the message says how many sessions it allows and how many are needed.
            ConnectionFailedError, UnauthorizedError: it cannot be reached, or wants a token.
        """
        limit: int | None = None
        active = 0
        try:
            hello = _greeting(self())
            if hello is not None:
                limit, active = hello.capacity.max, hello.capacity.active
        except CapacityReachedError as error:
            limit, active = error.details.get("max_sessions"), error.details.get("active_sessions", 0)
            limit = None if limit is None else int(limit)
        if limit is None:
            return  # a server of protocol version 1 does not tell
        waits = float(self._arguments.get("wait_for_capacity_s", 0.0)) > 0
        if limit < rollouts:
            raise ConfigurationError(
                f"{self.base_url} allows {limit} sessions at a time and this run needs {rollouts}, one for each "
                f"rollout of a generation batch; start the server with --max-sessions {rollouts} "
                "(MAX_CONCURRENT_ENVS), or make the batch smaller"
            )
        if limit - active < rollouts and not waits:
            raise ConfigurationError(
                f"{self.base_url} has {limit - active} of {limit} sessions free and this run needs {rollouts}; give "
                "wait_for_capacity_s to wait for those of others, or allow more with --max-sessions"
            )

    def close(self) -> None:
        """End the sessions of everything made so far. May be called more than once."""
        for made in list(self._made):
            made._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _greeting(probe: ToolEnvironment[Any]) -> HelloData | None:
    """What the server says of itself now, on a connection of its own: one that was used before was greeted long ago."""
    args, kwargs = probe._client._arguments

    async def greet() -> HelloData | None:
        async with probe.client_type.aio(*args, **kwargs) as client:
            greeting: HelloData | None = client.hello
            return greeting

    with ThreadPoolExecutor(1) as thread:  # there may be a running loop here: in a notebook, say
        return thread.submit(asyncio.run, greet()).result()


def _unpickled(
    tools: type[ToolEnvironment[Any]], base_url: str, arguments: dict[str, Any], rate: float, window: int
) -> EnvironmentFactory:
    return EnvironmentFactory(tools, base_url, arguments, max_fault_rate=rate, fault_window=window)


def environment_factory(
    tools: type[ToolEnvironment[Any]],
    base_url: str,
    *,
    rollouts: int | None = None,
    max_fault_rate: float = 0.5,
    fault_window: int = 100,
    **arguments: Any,
) -> EnvironmentFactory:
    """What ``GRPOTrainer(environment_factory=...)`` is given.

    Args:
        tools: the tool environment.
        base_url: the server.
        rollouts: how many run at a time; the server is checked for them at once. Default: no check here; see
            :func:`~openenv_core.training.attach.prepare`, which takes the number from the trainer.
        max_fault_rate: training stops when a larger share of the last ``fault_window`` rollouts was faulty.
        fault_window: that many.
        **arguments: of the tool environment and of its client, for example ``token``, ``message_timeout_s`` or
            ``wait_for_capacity_s``.

    Raises:
        ConfigurationError: no schema can be made for a tool, or the server has too little room.
    """
    factory = EnvironmentFactory(tools, base_url, arguments, max_fault_rate=max_fault_rate, fault_window=fault_window)
    if rollouts is not None:
        factory.check(rollouts)
    return factory


class MultiEnvironment(dict[str, EnvironmentFactory]):
    """Several environments in one run; the column ``environment`` of the dataset says which one a row is for.

    To a trainer that knows dictionaries of factories it is one, and each prompt shows the tools of its own environment
    alone. To an older one it is a single factory, whose environments have the tools of all.

    >>> GRPOTrainer(environment_factory=MultiEnvironment(catch=..., wordle=...), ...)   # doctest: +SKIP
    """

    def __init__(self, factories: Mapping[str, EnvironmentFactory] | None = None, **named: EnvironmentFactory) -> None:
        super().__init__(factories or {}, **named)
        if not self:
            raise ConfigurationError("give at least one environment, as name=environment_factory(...)")
        owners: dict[str, str] = {}
        for name, factory in self.items():
            for tool in tool_names(factory.tools):
                if tool in owners and self[owners[tool]].tools is not factory.tools:
                    raise ConfigurationError(f"environments {owners[tool]!r} and {name!r} both have a tool {tool!r}")
                owners[tool] = name

    def __call__(self) -> Any:
        """A tool environment with the tools of all, for trainers that do not know dictionaries of factories."""
        return _union(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return MultiEnvironment, (dict(self),)

    def close(self) -> None:
        """End the sessions of everything made so far."""
        for factory in self.values():
            factory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Union:
    """One rollout slot that is one of several environments at a time. The tools are added to subclasses."""

    def __init__(self, factories: Mapping[str, EnvironmentFactory]) -> None:
        self._slots = {name: factory() for name, factory in factories.items()}
        self._active: ToolEnvironment[Any] | None = None

    def reset(self, **columns: Any) -> FirstMessage:
        """Start an episode of the environment that the row names."""
        name = columns.get("environment")
        if name not in self._slots:
            raise ConfigurationError(f"the row's environment is {name!r}; there are {', '.join(self._slots)}")
        self._active = self._slots[name]
        return self._active.reset(**columns)

    def _of(self, tool: str) -> Any:
        if self._active is None or tool not in tool_names(type(self._active)):
            raise ToolCallError(f"there is no tool {tool!r} in this task")
        return getattr(self._active, tool)


def _union(factories: Mapping[str, EnvironmentFactory]) -> _Union:
    tools = {
        name: _forward(getattr(factory.tools, name))
        for factory in factories.values()
        for name in tool_names(factory.tools)
    }
    made: _Union = type("MultiTools", (_Union,), {**tools, "__doc__": _Union.__doc__})(factories)
    return made


def _forward(tool: Any) -> Any:
    """A method of a union that calls the tool of its active environment; its signature and docstring are the tool's."""

    @functools.wraps(tool)
    def forward(self: _Union, *args: Any, **kwargs: Any) -> Any:
        return self._of(tool.__name__)(*args, **kwargs)

    return forward


def active(environment: Any) -> Any:
    """The tool environment that a trainer's environment stands for at the moment: itself, or the active of several."""
    return environment._active if isinstance(environment, _Union) else environment
