"""Any Gymnasium environment as an environment that a server can host."""

import copyreg
import random
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Annotated, Any, ClassVar, cast

import gymnasium
import numpy
from pydantic import Field, create_model

from openenv_core.adapters.spaces import SpaceType, describe_space, sample_from_plain, space_from_description
from openenv_core.environment import Environment, EnvironmentSpec, Execution
from openenv_core.errors import ConfigurationError
from openenv_core.types import Action, Image, Observation, State, StepResult

__all__ = [
    "GymnasiumAction",
    "GymnasiumObservation",
    "GymnasiumState",
    "HostedEnvironment",
    "environment_from_gymnasium",
    "play",
    "spec_from_gymnasium",
]

Maker = Callable[[], "gymnasium.Env[Any, Any]"]


class GymnasiumAction(Action):
    """Base of the actions of hosted environments; each has a field ``action``, typed by its action space."""


class GymnasiumObservation(Observation):
    """Base of the observations of hosted environments; each has a field ``observation``, typed by its space.

    ``metadata`` holds Gymnasium's ``info``, its arrays as lists.

    Attributes:
        frame: the rendered picture, where the environment was made with ``render_mode="rgb_array"``.
        text: the rendered text, where it was made with ``render_mode="ansi"``.
    """

    frame: Image | None = None
    text: str | None = None


class GymnasiumState(State):
    """What is hosted, and the spaces, from which a client makes its own.

    Attributes:
        gymnasium_id: the environment's registered name, or the name of its class.
        render_mode: ``"rgb_array"``, ``"ansi"`` or ``None``.
        action_space, observation_space: as :func:`~openenv_core.adapters.spaces.describe_space` puts them.
    """

    gymnasium_id: str = ""
    render_mode: str | None = None
    action_space: dict[str, Any] = Field(default_factory=dict)
    observation_space: dict[str, Any] = Field(default_factory=dict)


class _HostedType(type):
    """The type of hosting classes: they are made as needed, so pickle cannot find them by name and makes them anew."""

    recipe: tuple[Any, Execution, dict[str, Any]]


class HostedEnvironment(Environment[Any, Any, GymnasiumState], metaclass=_HostedType):
    """A Gymnasium environment behind the verbs of this framework. :func:`environment_from_gymnasium` subclasses it.

    Gymnasium lets a step be terminated and truncated at once; the protocol here does not: such a step is terminated.

    Class attributes:
        make: makes one Gymnasium environment.
        models: the action and the observation model.
        action_space: of the environment.
        description: the state's fixed fields.
    """

    concurrency_safe = True
    make: ClassVar[Maker]
    models: ClassVar[tuple[Any, Any]]
    action_space: ClassVar["gymnasium.spaces.Space[Any]"]
    description: ClassVar[Mapping[str, Any]]

    def __init__(self) -> None:
        self._hosted = type(self).make()
        self._state = GymnasiumState(**self.description)

    @classmethod
    def action_type(cls) -> Any:
        """The action model: one field, ``action``."""
        return cls.models[0]

    @classmethod
    def observation_type(cls) -> Any:
        """The observation model: ``observation``, ``frame`` and ``text``."""
        return cls.models[1]

    def reset(
        self, *, seed: int | None = None, episode_id: str | None = None, options: dict[str, Any] | None = None
    ) -> Any:
        """Start an episode.

        Args:
            seed: determines the episode. Without one the environment goes on with the generator that it has.
            episode_id: a name for the episode.
            options: what the environment's own ``reset`` takes under this name.
        """
        observation, info = self._hosted.reset(seed=seed, options=options)
        self._state.episode_id, self._state.step_count = episode_id, 0
        return self._observe(observation, info)

    def step(self, action: Any) -> Any:
        """Do ``action.action``."""
        sample = sample_from_plain(self.action_space, action.action)
        observation, reward, terminated, truncated, info = self._hosted.step(sample)
        self._state.step_count += 1
        return self._observe(
            observation,
            info,
            reward=float(reward),
            done=bool(terminated or truncated),
            truncated=bool(truncated and not terminated),
        )

    @property
    def state(self) -> GymnasiumState:
        """What is hosted, its spaces, the episode's name and number of steps."""
        return self._state

    def close(self) -> None:
        """Close the hosted environment."""
        self._hosted.close()

    def _observe(self, observation: Any, info: Mapping[str, Any], **more: Any) -> Any:
        rendered: Any = self._hosted.render() if self._state.render_mode is not None else None
        if self._state.render_mode == "rgb_array":
            more["frame"] = Image.from_array(rendered)
        elif self._state.render_mode == "ansi":
            more["text"] = rendered
        return self.models[1](observation=observation, metadata=_jsonable(info), **more)


def environment_from_gymnasium(
    environment: str | Callable[..., "gymnasium.Env[Any, Any]"],
    *,
    execution: Execution = "thread",
    **make_kwargs: Any,
) -> type[HostedEnvironment]:
    """A class that hosts a Gymnasium environment, with action and observation models made from its spaces.

    One environment is made, and closed again, to read its spaces.

    Args:
        environment: a registered name, such as ``"CartPole-v1"``, or a class or function that makes an environment.
        execution: where its calls run, as on :class:`~openenv_core.environment.Environment`.
        **make_kwargs: for ``gymnasium.make``, or for the class or function. ``render_mode="rgb_array"`` adds a picture
            to every observation, ``"ansi"`` a text.

    Raises:
        ConfigurationError: the environment cannot be made, or has a space or a render mode that cannot be served.
    """
    name = environment if isinstance(environment, str) else getattr(environment, "__name__", type(environment).__name__)

    def make() -> "gymnasium.Env[Any, Any]":
        if isinstance(environment, str):
            # The checker of every first call prints warnings for authors; here nobody would read them.
            return gymnasium.make(environment, **{"disable_env_checker": True, **make_kwargs})
        return environment(**make_kwargs)

    try:
        found = make()
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise ConfigurationError(f"gymnasium cannot make {name!r}: {error}") from error
    action_space, observation_space, render_mode = found.action_space, found.observation_space, found.render_mode
    found.close()
    if render_mode not in (None, "rgb_array", "ansi"):
        raise ConfigurationError(f"render_mode={render_mode!r} cannot be served; choose 'rgb_array', 'ansi' or none")
    stem = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+", name))
    content = {
        "__doc__": f"Gymnasium's {name}.",
        "__module__": __name__,
        "recipe": (environment, execution, make_kwargs),
        "execution": execution,
        "make": staticmethod(make),
        "models": _models(stem, action_space, observation_space),
        "action_space": action_space,
        "description": {
            "gymnasium_id": name,
            "render_mode": render_mode,
            "action_space": describe_space(action_space),
            "observation_space": describe_space(observation_space),
        },
    }
    return type(f"{stem}Environment", (HostedEnvironment,), content)


def _from_recipe(environment: Any, execution: Execution, make_kwargs: dict[str, Any]) -> type[HostedEnvironment]:
    return environment_from_gymnasium(environment, execution=execution, **make_kwargs)


def _reduced(cls: Any) -> str | tuple[Any, ...]:
    return (_from_recipe, cls.recipe) if "recipe" in vars(cls) else str(cls.__qualname__)


copyreg.pickle(_HostedType, _reduced)


def _models(stem: str, action_space: Any, observation_space: Any) -> tuple[Any, Any]:
    action: Any = Annotated[Any, SpaceType(action_space, exact=True)]
    observation: Any = Annotated[Any, SpaceType(observation_space, exact=False)]
    return (
        create_model(f"{stem}Action", __base__=GymnasiumAction, action=(action, ...)),
        create_model(f"{stem}Observation", __base__=GymnasiumObservation, observation=(observation, ...)),
    )


def spec_from_gymnasium(environment_id: str, **make_kwargs: Any) -> EnvironmentSpec:
    """A registered Gymnasium environment as a specification, as if it were an installed environment.

    Args:
        environment_id: its registered name.
        **make_kwargs: as for :func:`environment_from_gymnasium`.

    Raises:
        ConfigurationError: as :func:`environment_from_gymnasium`.
    """
    hosted = environment_from_gymnasium(environment_id, **make_kwargs)
    space = deepcopy(hosted.action_space)

    def sample_action(observation: Any, generator: random.Random) -> Any:
        space.seed(generator.getrandbits(31))
        return hosted.action_type()(action=space.sample())

    return EnvironmentSpec(
        name=environment_id,
        factory=hosted,
        client="openenv_core.client:GenericEnvClient",
        description=f"Gymnasium's {environment_id}.",
        state_type=GymnasiumState,
        demo=f"{__name__}:play",
        sample_action=sample_action,
    )


def play(env: Any) -> Iterator[StepResult[Any]]:
    """Play one episode of random actions through a client of a hosted environment, and yield each result."""
    yield (result := env.reset(seed=7))
    state = env.state()
    description = state["action_space"] if isinstance(state, Mapping) else state.action_space
    space = space_from_description(description)
    space.seed(7)
    action = SpaceType(space, exact=True).adapter()
    while not result.done:
        yield (result := env.step({"action": action.validate_python(space.sample())}))


def _jsonable(value: Any) -> Any:
    """Gymnasium's ``info`` as JSON knows it: arrays as lists, names as texts, anything else as its text."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, numpy.ndarray | numpy.generic):
        return _jsonable(cast("Any", value.tolist()))
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_jsonable(item) for item in value]
    return str(value)
