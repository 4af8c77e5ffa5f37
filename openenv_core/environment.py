"""What an environment author subclasses, and what the framework reads off the class."""

import functools
import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model

from openenv_core.errors import (
    ConfigurationError,
    UnknownResetOptionError,
    ValidationFailedError,
    jsonable_problems,
)
from openenv_core.types import Action, Observation, State

__all__ = [
    "Environment",
    "EnvironmentSpec",
    "EnvironmentTraits",
    "Execution",
    "ResetOptions",
    "class_of_factory",
    "traits_of",
]

ActionT = TypeVar("ActionT")
ObservationT = TypeVar("ObservationT", bound=Observation)
StateT = TypeVar("StateT", bound=State)

Execution = Literal["inline", "thread", "process"]


class Environment(Generic[ActionT, ObservationT, StateT]):
    """One world. Subclass it, give ``reset`` and ``step``; ``state`` and ``close`` where they are needed.

    ``reset``, ``step`` and ``close`` may be ``async def``. The framework refuses a step before the first reset, a step
    after the end and a non-finite reward, counts steps and applies ``max_steps``: a subclass need not.

    Randomness must come from a generator that the object owns (``random.Random(seed)``), so that a seed fully
    determines an episode and sessions do not disturb each other.

    Class attributes:
        concurrency_safe: instances may run side by side in one process.
        execution: where calls run. ``"inline"``: on the server's event loop, for code that never blocks and takes
            microseconds; no deadline ends a call that blocks there. ``"thread"`` (default): in a thread of the
            session's own. ``"process"``: in a worker process.
        max_steps: after so many steps the episode is truncated; ``None`` for no limit.
        step_deadline_s: one call may take so long; ``None`` leaves it to the server's setting. With ``"inline"`` it
            ends a call that awaits, not one that blocks.
        auto_start: an episode starts by itself at the first step; ``step`` before ``reset`` is allowed.
        episode_policy: ``"strict"`` (default) applies the guards above. ``"lenient"`` leaves the behaviour before the
            first reset and after the end to the environment and drops reset options that it does not know.

    Two static methods may say how people see it, in a page and in a terminal: ``render(observation)`` gives what is
    shown (:mod:`openenv_core.rendering`: ``Grid``, ``Text``, ``Html``, ``Picture``, or a list of them), and
    ``actions(observation)`` the actions that can be done now, each as ``Labelled`` or as a pair of label and action.
    """

    concurrency_safe: ClassVar[bool] = False
    execution: ClassVar[Execution] = "thread"
    max_steps: ClassVar[int | None] = None
    step_deadline_s: ClassVar[float | None] = None
    auto_start: ClassVar[bool] = False
    episode_policy: ClassVar[Literal["strict", "lenient"]] = "strict"

    # The one signature that type checkers let a subclass replace by any other: its options are its own.
    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Start an episode and return its first observation.

        Name the options that an environment takes in its own signature, as keywords: the framework refuses any other
        by name and checks their values against the annotations. Two are known everywhere: ``seed``, an integer of 0 or
        more (default ``None``), fully determines the episode; ``episode_id`` is a name for it, made up by the framework
        where the caller gives none. Where nothing is random, ``seed`` need not be named: one that a caller gives is
        dropped then, and the server's log says so once.
        """
        raise NotImplementedError

    def step(self, action: ActionT) -> Any:
        """Do ``action`` and return what it led to, with its reward."""
        raise NotImplementedError

    @property
    def state(self) -> StateT:
        """What the agent or an operator may know. Without an override the framework tells episode id and step count."""
        raise NotImplementedError

    def close(self) -> Any:
        """Give back what the environment holds. Called once, in the place where the other calls ran."""

    @classmethod
    def action_type(cls) -> Any:
        """The action class that this environment names as its first type argument (``Action`` without one)."""
        return _type_argument(cls, 0, Action)

    @classmethod
    def observation_type(cls) -> Any:
        """The observation class that this environment names as its second type argument."""
        return _type_argument(cls, 1, Observation)

    @classmethod
    def state_type(cls) -> Any:
        """The state class that this environment names as its third type argument."""
        return _type_argument(cls, 2, State)


def _type_argument(cls: type[Any], index: int, default: Any) -> Any:
    for klass in cls.__mro__:
        for base in getattr(klass, "__orig_bases__", ()):
            arguments = typing.get_args(base)
            if typing.get_origin(base) is Environment and not isinstance(arguments[index], TypeVar):
                return arguments[index]
    return default


class ResetOptions:
    """The options that one ``reset`` takes, read off its signature, and the check of what a caller sends.

    ``seed`` (an integer of 0 or more) and ``episode_id`` (at most 255 characters) are accepted always, and passed on
    only where the method names them. A session warns of a seed that is lost.
    """

    _COMMON: ClassVar[dict[str, Any]] = {
        "seed": (int | None, Field(default=None, ge=0, alias="seed")),
        "episode_id": (str | None, Field(default=None, max_length=255, alias="episode_id")),
    }

    def __init__(self, method: Callable[..., Any], *, lenient: bool) -> None:
        parameters = [p for name, p in inspect.signature(method).parameters.items() if name != "self"]
        by_name = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.names = frozenset(p.name for p in by_name)
        self._lenient = lenient
        hints = _hints(method)
        own: dict[str, Any] = {
            p.name: (hints.get(p.name, Any), Field(default=... if p.default is p.empty else p.default, alias=p.name))
            for p in by_name
            if p.name not in self._COMMON
        }
        extra: Literal["allow", "ignore", "forbid"] = "allow" if self.takes_any else "ignore" if lenient else "forbid"
        config = ConfigDict(extra=extra, arbitrary_types_allowed=True)
        # Under names of our own: an option may be called like something that every pydantic model has.
        self._fields = {name: f"option_{number}" for number, name in enumerate([*self._COMMON, *own])}
        definitions: dict[str, Any] = {self._fields[name]: entry for name, entry in {**self._COMMON, **own}.items()}
        self._model: type[BaseModel] = create_model("ResetOptions", __config__=config, **definitions)
        self._has_required = any(info.is_required() for info in self._model.model_fields.values())

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of the options as one object.

        Raises:
            ValueError: it cannot be made.
        """
        try:
            return self._model.model_json_schema(by_alias=True)
        except PydanticUserError as error:
            raise ValueError(str(error)) from error

    @property
    def takes_seed(self) -> bool:
        """Whether ``reset`` is told the seed; what a caller gives is lost where it is not."""
        return self.takes_any or "seed" in self.names

    @property
    def known(self) -> list[str]:
        """The names that a caller may give, sorted."""
        return sorted({*self.names, *self._COMMON})

    def check(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments for ``reset``: what the caller sent, typed.

        Raises:
            UnknownResetOptionError: an option that this ``reset`` does not have.
            ValidationFailedError: a value that does not fit its annotation.
        """
        if not options and not self._has_required:
            return {}
        try:
            checked = self._model.model_validate(options)
        except ValidationError as error:
            raise self._refusal(error) from None
        known = {name: getattr(checked, field) for name, field in self._fields.items() if name in options}
        if self.takes_any:
            return {**known, **(checked.model_extra or {})}
        return {name: value for name, value in known.items() if name in self.names}

    def _refusal(self, error: ValidationError) -> ValidationFailedError:
        problems = jsonable_problems(error)
        unknown = [str(problem["loc"][0]) for problem in problems if problem["type"] == "extra_forbidden"]
        if unknown:
            return UnknownResetOptionError(
                f"reset has no option {', '.join(map(repr, unknown))}; it knows {', '.join(self.known)}",
                errors=problems,
                unknown=unknown,
                known=self.known,
            )
        first = problems[0]
        return ValidationFailedError(
            f"reset option {'.'.join(map(str, first['loc']))!r}: {first['msg']}", errors=problems
        )


def _hints(method: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(method, include_extras=True)
    except (NameError, TypeError, AttributeError):
        # Annotations that only a type checker can resolve: the value is passed on unchecked.
        return {}


@dataclass(frozen=True)
class EnvironmentTraits:
    """What the framework needs to know of an environment, found once when a factory is first used.

    Attributes:
        cls: the class.
        name: the class's name.
        max_steps, step_deadline_s, concurrency_safe, execution, auto_start: as on :class:`Environment`.
        lenient: ``episode_policy`` is ``"lenient"``, or the class is none of ours.
        reset, step, close: the methods' names: the ``*_async`` twin where a class of the public package overrides it.
        reset_options: the check of what ``reset`` is given.
        step_takes_timeout: ``step`` has a parameter ``timeout_s``.
        passes_episode_id: ``reset`` is told the name of the episode, made up where the caller gave none.
        has_state: the class has a ``state`` of its own.
        methods: names of all public methods.
    """

    cls: type[Any]
    name: str
    concurrency_safe: bool
    execution: Execution
    max_steps: int | None
    step_deadline_s: float | None
    auto_start: bool
    lenient: bool
    reset: str
    step: str
    close: str | None
    reset_options: ResetOptions
    step_takes_timeout: bool
    passes_episode_id: bool
    has_state: bool
    methods: frozenset[str]


def traits_of(cls: type[Any]) -> EnvironmentTraits:
    """The traits of a class, read once.

    Raises:
        ConfigurationError: the class has no ``reset`` or ``step`` of its own, or a trait has a value that cannot work.
    """
    key: Any = cls
    return _read_traits(key)


@functools.lru_cache(maxsize=256)
def _read_traits(cls: Any) -> EnvironmentTraits:
    _check_methods(cls)
    ours = issubclass(cls, Environment)
    lenient = not ours or cls.episode_policy == "lenient"
    execution: Execution = getattr(cls, "execution", "thread")
    if execution not in ("inline", "thread", "process"):
        raise ConfigurationError(f"{cls.__name__}.execution is {execution!r}; it must be inline, thread or process")
    max_steps = getattr(cls, "max_steps", None) if ours else None
    deadline = getattr(cls, "step_deadline_s", None)
    if deadline is not None and not (deadline > 0 and math.isfinite(deadline)):
        raise ConfigurationError(f"{cls.__name__}.step_deadline_s is {deadline!r}; it must be a positive number")
    reset, step = _chosen(cls, "reset"), _chosen(cls, "step")
    options = ResetOptions(getattr(cls, reset), lenient=lenient)
    step_parameters = inspect.signature(getattr(cls, step)).parameters
    return EnvironmentTraits(
        cls=cls,
        name=cls.__name__,
        concurrency_safe=bool(
            getattr(cls, "concurrency_safe", False) or getattr(cls, "SUPPORTS_CONCURRENT_SESSIONS", False)
        ),
        execution=execution,
        max_steps=max_steps,
        step_deadline_s=deadline,
        auto_start=lenient or bool(getattr(cls, "auto_start", False)),
        lenient=lenient,
        reset=reset,
        step=step,
        close="close" if callable(getattr(cls, "close", None)) else None,
        reset_options=options,
        step_takes_timeout="timeout_s" in step_parameters,
        passes_episode_id=not lenient and "episode_id" in options.names,
        has_state=getattr(cls, "state", None) is not Environment.state and hasattr(cls, "state"),
        methods=frozenset(name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name))),
    )


def _check_methods(cls: type[Any]) -> None:
    for verb in ("reset", "step"):
        if not callable(getattr(cls, verb, None)):
            raise ConfigurationError(f"{cls.__name__} is not an environment: it has no method {verb!r}")
    if missing := _unwritten(cls):
        raise ConfigurationError(
            f"{cls.__name__} has no method {' and no method '.join(map(repr, missing))} of its own; write "
            f"{cls.__name__}.{missing[0]}"
        )


def _unwritten(cls: type[Any]) -> list[str]:
    """The methods that a class leaves to whoever subclasses it."""
    verbs = ("reset", "step") if issubclass(cls, Environment) else ()
    ours = [verb for verb in verbs if getattr(cls, _chosen(cls, verb)) is getattr(Environment, verb)]
    return sorted({*ours, *getattr(cls, "__abstractmethods__", ())})


def _chosen(cls: type[Any], verb: str) -> str:
    """``verb_async`` where the class itself overrides the public package's default for it, else ``verb``."""
    twin = f"{verb}_async"
    owner = next((klass for klass in cls.__mro__ if twin in vars(klass)), None)
    sync_owner = next(klass for klass in cls.__mro__ if verb in vars(klass))
    # The more derived definition is what the author means: an inherited step_async must not hide an overridden step.
    if owner is None or cls.__mro__.index(owner) > cls.__mro__.index(sync_owner):
        return verb
    return verb if owner.__module__.startswith("openenv.core") and owner.__name__ == "Environment" else twin


@dataclass(frozen=True)
class EnvironmentSpec:
    """An installed environment, as the entry point group ``openenv.environments`` names it.

    Attributes:
        name: the name by which commands find it, for example ``echo_env``.
        factory: makes one environment object without arguments; usually the class.
        client: ``"module:Class"`` of the typed client, for example ``"echo_env:EchoEnv"``.
        description: one line.
        action_type, observation_type, state_type: the models; read off the class where they are not given.
        max_sessions: the limit of sessions where no setting says otherwise.
        demo: ``"module:function"``: a generator that is given a typed client, plays one episode through it and yields
            each :class:`~openenv_core.types.StepResult`, the reset's first.
        sample_action: given the last observation and a ``random.Random``, a legal action; the conformance checks and
            commands play with it. Without one they make actions from the action's schema.
        variants: other names under which the same server can start, each with the environment variables that choose it.
        variables: the environment variables that its server reads beside the framework's own, each with its meaning.
        games: ``"module:function"``: without arguments, what the server can play: a sequence of objects with
            ``env_id``, ``runs`` and ``note``, one line that says why a game does not run, or a caution.
        check: called once before a server starts: raises ``ConfigurationError`` for a variable whose value cannot work,
            so that it ends the start rather than the first session.
        example_action: a typical action as plain values, for programs and forms to begin with.
        tools: ``"module:Class"`` of the tools that a trainer gives a model, for example ``"echo_env.tools:EchoTools"``.
        page_options: options of reset with which the page's form begins; a person may change them.
        render, actions: what people are shown and offered, as the static methods of the same names on
            :class:`Environment` say it; these come first.
    """

    name: str
    factory: Callable[[], Any]
    client: str
    description: str = ""
    action_type: Any = None
    observation_type: Any = None
    state_type: Any = None
    max_sessions: int = 64
    demo: str | None = None
    sample_action: Callable[[Any, Any], Any] | None = None
    variants: Mapping[str, Mapping[str, str]] | None = None
    variables: Mapping[str, str] | None = None
    games: str | None = None
    check: Callable[[], object] | None = None
    example_action: Mapping[str, Any] | None = None
    tools: str | None = None
    page_options: Mapping[str, Any] | None = None
    render: Callable[[Any], Any] | None = None
    actions: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        cls = class_of_factory(self.factory)
        for name in ("action_type", "observation_type", "state_type"):
            if getattr(self, name) is None:
                if cls is None or not issubclass(cls, Environment):
                    raise ConfigurationError(f"environment {self.name!r}: {name} must be given for this factory")
                object.__setattr__(self, name, getattr(cls, name)())


def class_of_factory(factory: Callable[..., Any]) -> type[Any] | None:
    """The class that a factory makes, where that can be told without calling it: a class, a partial of one, or a
    function whose return annotation is a class; ``None`` otherwise."""
    while isinstance(factory, functools.partial):
        factory = factory.func
    if isinstance(factory, type):
        return factory
    returned = _hints(factory).get("return")
    # A function may well say no more than that it makes an environment.
    return returned if isinstance(returned, type) and hasattr(returned, "step") and not _unwritten(returned) else None
