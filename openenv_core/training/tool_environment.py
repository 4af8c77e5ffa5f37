"""The base of tool environments: a client behind methods that a language model may call."""

import asyncio
import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import Any, ClassVar, Generic, TypeVar

from openenv_core.client import EnvClient
from openenv_core.errors import ConfigurationError, OpenEnvError, ValidationFailedError
from openenv_core.training.monitor import Monitor
from openenv_core.training.record import Episode, Fault, fault_of, fault_of_code
from openenv_core.training.schemas import RESERVED
from openenv_core.types import Image, StepResult

__all__ = ["FirstMessage", "OwnsReward", "ToolCallError", "ToolEnvironment"]

ClientT = TypeVar("ClientT", bound=EnvClient[Any, Any, Any])
FirstMessage = str | list[dict[str, Any]] | None

_AFTER_FAULT = "The environment has failed and this episode cannot go on. Call no more tools; end your answer now."
_AFTER_END = "The episode is over. Call no more tools; end your answer now."
_BEFORE_RESET = "No episode is running: the trainer has not called reset."
_NOT_FOR_RESET = frozenset({"prompt", "environment", "completion", "completion_ids"})


class ToolCallError(ValueError):
    """A tool call that cannot be done; the trainer shows the message to the model."""


class ToolEnvironment(Generic[ClientT]):
    """One rollout slot of a trainer: holds a client, and its public methods are the tools of the model.

    A subclass names its client class and adds methods with type hints and Google docstrings. Everything public is a
    tool, so helpers begin with an underscore. Tools call :meth:`_step`; one may be ``async`` and await
    :meth:`_step_async`.

    >>> class EchoTools(ToolEnvironment[EchoEnv]):           # doctest: +SKIP
    ...     client_type = EchoEnv
    ...
    ...     def echo(self, message: str) -> str:
    ...         '''Say something.
    ...
    ...         Args:
    ...             message: What to say.
    ...         '''
    ...         return self._step(EchoAction(message=message)).observation.echoed_message

    A fault of the infrastructure is never a reward: it is kept in ``episode.fault``, ``reward`` is ``None``, it is
    counted, and the model is told to end. A ``ValueError`` from a tool and a move that the environment refuses are the
    model's own mistakes: they are told to it and counted as invalid actions.

    Attributes:
        client_type: the client class.
        reset_columns: columns of the dataset that ``reset`` passes on; ``None``: those the server says it knows, or
            only ``seed`` where it does not say.
        prompt: what the user says to a model that is to play, where nothing else is said.
        server_variables: environment variables with which a server of it is started, where that needs any.
        shows_pictures: whether what it shows holds pictures, so that it is for models that see.
        episode: what is known of the running or last rollout.
    """

    client_type: ClassVar[Any] = None
    reset_columns: ClassVar[tuple[str, ...] | None] = None
    prompt: ClassVar[str] = ""
    server_variables: ClassVar[Mapping[str, str]] = {}
    shows_pictures: ClassVar[bool] = False

    def __init__(self, base_url: str, *, monitor: Monitor | None = None, **client_arguments: Any) -> None:
        """Connects at the first reset.

        Args:
            base_url: the server.
            monitor: counts the rollouts; default: one of its own.
            **client_arguments: of the client class.
        """
        if self.client_type is None:
            raise ConfigurationError(f"{type(self).__name__} names no client class: set client_type")
        self.episode = Episode()
        self._monitor = monitor if monitor is not None else Monitor(type(self).__name__)
        self._client: ClientT = self.client_type(base_url=base_url, **client_arguments)
        self._ahead: tuple[dict[str, Any], Future[FirstMessage]] | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value) and not name.startswith("_") and name not in RESERVED:
                setattr(cls, name, _guarded(value))

    @property
    def reward(self) -> float | None:
        """The sum of the rewards of the episode; ``None`` after a fault."""
        return self.episode.reward

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.episode.done

    @property
    def success(self) -> bool | None:
        """Whether the task was solved."""
        return self.episode.success

    def reset(self, **columns: Any) -> FirstMessage:
        """Start an episode for a row of the dataset, in a fresh session; the old one is closed first.

        Args:
            **columns: the row. ``seed`` and what else the environment's ``reset`` knows is passed on, the rest is not.

        Returns:
            What the model is told, to be added to the prompt: text that begins with an empty line, or content blocks.

        Raises:
            FaultLimitError: too many rollouts have failed; the message is the report.
            ConfigurationError: the row does not fit the environment.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None and _is_same(ahead[0], columns):
            return ahead[1].result()
        return self._start(columns)

    def _start(self, columns: dict[str, Any]) -> FirstMessage:
        self._monitor.finished(self.episode)
        self.episode = Episode(columns=columns, begun=True)
        self._forget()
        started = time.perf_counter()
        try:
            # A fresh session for each episode: a proxy that cuts connections by the hour harms one of them at most.
            self._client.close()
            self._client.connect()
            self.episode.options = self._options(columns)
            result = self._client.reset(**self.episode.options)
        except OpenEnvError as error:
            fault = fault_of(error)
            if fault is None:
                raise ConfigurationError(
                    f"{type(self).__name__}.reset with {self.episode.options!r}: {error.message}"
                ) from error
            self.episode.fault = fault
            return f"\n\n{_AFTER_FAULT}"
        finally:
            self.episode.reset_seconds = time.perf_counter() - started
        self.episode.note(result, is_step=False)
        return _set_apart(self._first_message(result))

    def _start_ahead(self, executor: Executor, columns: dict[str, Any]) -> None:
        """Begin :meth:`reset` in a thread; the next ``reset`` with the same row waits for it."""
        self._ahead = columns, executor.submit(self._start, columns)

    def _options(self, columns: dict[str, Any]) -> dict[str, Any]:
        known = self.reset_columns
        if known is None:
            hello = self._client.hello
            told = hello.reset_options if hello is not None else None
            known = tuple(told) if told is not None else ("seed",)
        return {
            name: value
            for name, value in columns.items()
            if name in known and value is not None and name not in _NOT_FOR_RESET
        }

    def _forget(self) -> None:
        """For subclasses: drop what belongs to the last episode. Called before the new one begins."""

    def _first_message(self, result: StepResult[Any]) -> FirstMessage:
        """For subclasses: what the model is told at the start. Default: the observation's ``text`` or ``prompt``."""
        observation = result.observation
        return str(getattr(observation, "text", None) or getattr(observation, "prompt", None) or "")

    def _step(self, action: Any) -> StepResult[Any]:
        """Do one action in the environment. For tools."""
        result: StepResult[Any] = self._client.step(action)
        self.episode.note(result)
        return result

    async def _step_async(self, action: Any) -> StepResult[Any]:
        """:meth:`_step` for ``async`` tools: other tools run meanwhile."""
        return await asyncio.to_thread(self._step, action)

    def _close(self) -> None:
        """End the session; the next ``reset`` opens another one."""
        self._client.close()

    @staticmethod
    def _picture(image: Image) -> dict[str, Any]:
        """A picture as a content block for models that see."""
        return {"type": "image", "image": image.to_pil()}

    @contextlib.contextmanager
    def _call(self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        """What is the same for every tool: whether it may run now, how long it took, what its errors mean."""
        episode = self.episode
        if episode.fault is not None or episode.done or not episode.begun:
            raise ToolCallError(_AFTER_FAULT if episode.fault else _AFTER_END if episode.done else _BEFORE_RESET)
        started = time.perf_counter()
        try:
            inspect.signature(method).bind(self, *args, **kwargs)
        except TypeError as error:
            episode.invalid_actions += 1
            raise ToolCallError(f"{method.__name__}: {error}") from None
        try:
            yield
        except ValidationFailedError as error:
            episode.invalid_actions += 1
            raise ToolCallError(error.message) from None
        except OpenEnvError as error:
            episode.fault = fault_of(error) or Fault("protocol", error.message)
            raise ToolCallError(_AFTER_FAULT) from error
        except ValueError:
            episode.invalid_actions += 1
            raise
        except Exception as error:
            episode.fault = fault_of_code(error)
            raise ToolCallError(_AFTER_FAULT) from error
        finally:
            episode.tool_seconds.append(time.perf_counter() - started)


class OwnsReward:
    """Mix this in for an environment that owns its reward: trainers that know ``get_reward`` need no reward function.

    >>> class Tools(OwnsReward, EchoTools): ...     # doctest: +SKIP
    """

    episode: Episode

    def get_reward(self) -> float | None:
        """The episode's reward; ``None`` after a fault, which trainers leave out of account."""
        return self.episode.reward


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same tool, with :meth:`ToolEnvironment._call` around it."""
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def awaiting(self: ToolEnvironment[Any], *args: Any, **kwargs: Any) -> Any:
            with self._call(method, args, kwargs):
                return await method(self, *args, **kwargs)

        return awaiting

    @functools.wraps(method)
    def calling(self: ToolEnvironment[Any], *args: Any, **kwargs: Any) -> Any:
        with self._call(method, args, kwargs):
            return method(self, *args, **kwargs)

    return calling


def _set_apart(first: FirstMessage) -> FirstMessage:
    """The first observation with an empty line before it: trainers put it right behind the prompt."""
    if isinstance(first, list):
        return [{"type": "text", "text": "\n\n"}, *first] if first else None
    return f"\n\n{first}" if first else None


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)
