"""How one environment's observations are shown: as its author says, and where he says nothing as the framework does."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from openenv_core.environment import EnvironmentSpec, class_of_factory
from openenv_core.rendering.hooks import NO_HOOKS, Hooks, hooks_of
from openenv_core.rendering.parts import Labelled, Part
from openenv_core.rendering.views import view_of

__all__ = ["Showing"]

_log = logging.getLogger(__name__)

GivenT = TypeVar("GivenT")


class Showing:
    """A fault of the author's code is logged, and costs his view and nothing else.

    Args:
        hooks: what the author says.
        observation_type: the model that his functions take.
    """

    def __init__(self, hooks: Hooks = NO_HOOKS, observation_type: Any = None) -> None:
        self._hooks = hooks
        self._observation_type = observation_type

    @classmethod
    def of(cls, spec: EnvironmentSpec) -> "Showing":
        """That of an installed environment."""
        hooks = hooks_of(class_of_factory(spec.factory), spec.render, spec.actions)
        return cls(hooks, spec.observation_type)

    def parts(
        self, episode: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], observation: Any = None
    ) -> list[Part]:
        """What a person is shown after the last of these observations.

        Args:
            episode, facts: as for :func:`~openenv_core.rendering.views.view_of`.
            observation: the last one as a model, where that is at hand.
        """
        own = self.own_parts(episode[-1], observation)
        return view_of(episode, facts) if own is None else own

    def own_parts(self, now: Mapping[str, Any], observation: Any = None) -> list[Part] | None:
        """What the author shows; ``None`` where he leaves it to the framework."""
        return None if self._hooks.render is None else self._asked(self._hooks.parts, now, observation)

    def labelled(self, now: Mapping[str, Any], observation: Any = None) -> list[Labelled] | None:
        """The actions that the author names; ``None`` where he names none."""
        return None if self._hooks.actions is None else self._asked(self._hooks.labelled, now, observation)

    def _asked(self, hook: Callable[[Any], GivenT], now: Mapping[str, Any], observation: Any) -> GivenT | None:
        try:
            model = self._observation_type
            if not isinstance(observation, BaseModel) and isinstance(model, type) and issubclass(model, BaseModel):
                observation = model.model_validate(now)
            return hook(now if observation is None else observation)
        except Exception:  # noqa: BLE001 - the author's code may raise anything
            _log.exception("the environment's own %s failed", hook.__name__)
            return None
