"""What lies between the models of a served environment and the spaces of Gymnasium."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy
from pydantic import BaseModel, TypeAdapter

from openenv_core.adapters.hosting import GymnasiumState
from openenv_core.adapters.model_spaces import codec_of_action, codec_of_observation
from openenv_core.adapters.spaces import SpaceType, plain_from_sample, sample_from_plain, space_from_description
from openenv_core.client import EnvClient
from openenv_core.client.batch import BatchClient
from openenv_core.errors import ConfigurationError
from openenv_core.types import Image

__all__ = ["Translation", "translation_for"]

Space = gymnasium.Space[Any]
Function = Callable[[Any], Any]
Client = EnvClient[Any, Any, Any] | BatchClient[Any, Any, Any]


@dataclass(frozen=True)
class Translation:
    """Both spaces, and the way to actions and from observations.

    Attributes:
        hosted: the server hosts an environment of Gymnasium's own.
        render_mode: what its observations carry: ``"rgb_array"``, ``"ansi"`` or ``None``.
    """

    action_space: Space
    observation_space: Space
    to_action: Function
    from_observation: Function
    hosted: bool = False
    render_mode: str | None = None

    def reset_options(self, seed: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
        """The keyword arguments of the client's ``reset``."""
        given = {} if seed is None else {"seed": seed}
        if self.hosted:
            return given if options is None else {**given, "options": options}
        return {**given, **(options or {})}

    def rendering(self, observation: Any) -> Any:
        """The picture, as an array, or the text that an observation carries."""
        if self.render_mode == "ansi":
            return _field(observation, "text")
        if self.render_mode == "rgb_array":
            return numpy.asarray(_IMAGE.validate_python(_field(observation, "frame")))
        return None


_IMAGE: TypeAdapter[Image] = TypeAdapter(Image)


def translation_for(
    client: Client,
    state: Callable[[], Any],
    *,
    action_space: Space | None,
    observation_space: Space | None,
    to_action: Function | None,
    from_observation: Function | None,
) -> Translation:
    """What is given, completed by what the environment tells.

    Args:
        client: whose models are looked at.
        state: asks for the environment's state; called only where something is not given.

    Raises:
        ConfigurationError: something is missing. The message says which arguments to give.
    """
    complete = None not in (to_action, from_observation) and action_space is not None and observation_space is not None
    hosted = None if complete else _hosted(client, state)
    if action_space is None or to_action is None:
        space, function = (hosted.action_space, hosted.to_action) if hosted else _from_action_model(client)
        action_space = space if action_space is None else action_space
        to_action = to_action or function
    if observation_space is None or from_observation is None:
        seen = (hosted.observation_space, hosted.from_observation) if hosted else _from_observation_model(client)
        observation_space = seen[0] if observation_space is None else observation_space
        from_observation = from_observation or seen[1]
    known = Translation(action_space, observation_space, to_action, from_observation)
    return replace(known, hosted=True, render_mode=hosted.render_mode) if hosted else known


def _hosted(client: Client, state: Callable[[], Any]) -> Translation | None:
    told = client.state_type
    if told is not dict and not (isinstance(told, type) and issubclass(told, GymnasiumState)):
        return None
    found = state()
    if not _field(found, "gymnasium_id") or not _field(found, "action_space"):
        return None
    action_space = space_from_description(_field(found, "action_space"))
    observation_space = space_from_description(_field(found, "observation_space"))
    check = SpaceType(observation_space, exact=False).adapter()

    def to_action(sample: Any) -> Any:
        return {"action": plain_from_sample(action_space, sample)}

    def from_observation(observation: Any) -> Any:
        return sample_from_plain(observation_space, check.validate_python(_field(observation, "observation")))

    render_mode = _field(found, "render_mode")
    return Translation(action_space, observation_space, to_action, from_observation, True, render_mode)


def _field(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _from_action_model(client: Client) -> tuple[Space, Function]:
    model = _model(client.action_type, "action_space and to_action")
    codec = codec_of_action(model)
    return codec.space, lambda sample: model.model_validate(codec.from_sample(sample))


def _from_observation_model(client: Client) -> tuple[Space, Function]:
    model = _model(client.observation_type, "observation_space and from_observation")
    codec = codec_of_observation(model)
    return codec.space, lambda observation: codec.to_sample(observation.model_dump(mode="json"))


def _model(found: Any, arguments: str) -> type[BaseModel]:
    if isinstance(found, type) and issubclass(found, BaseModel):
        return found
    raise ConfigurationError(f"this client has no model from which a space could be made: give {arguments}")
