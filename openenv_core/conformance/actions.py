"""Where the actions of the checks come from."""

from collections.abc import Mapping
from random import Random
from typing import Any

from pydantic import TypeAdapter

from openenv_core.environment import EnvironmentSpec
from openenv_core.errors import ConfigurationError
from openenv_core.sampling import sample_from_schema
from openenv_core.wire.values import model_json, parse_json

__all__ = ["ActionSource"]


class ActionSource:
    """Makes actions: with the environment's own ``sample_action`` where it has one, else from the action's schema.

    Args:
        schema: the action's JSON schema.
        spec: the environment, where more of it is known than its schema.
    """

    def __init__(self, schema: Mapping[str, Any], spec: EnvironmentSpec | None = None) -> None:
        self._schema = schema
        self._sample = spec.sample_action if spec is not None else None
        self._observation: TypeAdapter[Any] = TypeAdapter(spec.observation_type if spec is not None else dict)

    @property
    def is_own(self) -> bool:
        """Whether the environment itself makes the actions, so that they ought to be legal."""
        return self._sample is not None

    def next(self, observation: str, random: Random) -> dict[str, Any]:
        """An action, as plain values, for what was seen last.

        Args:
            observation: the observation as JSON text.

        Raises:
            ConfigurationError: ``sample_action`` itself failed.
            UnsupportedOperationError: the schema asks for something that cannot be made.
        """
        if self._sample is None:
            return self.from_schema(random)
        try:
            action = self._sample(self._observation.validate_json(observation), random)
            made: dict[str, Any] = parse_json(model_json(action))
        except Exception as error:
            raise ConfigurationError(
                f"the environment's sample_action failed: {type(error).__name__}: {error}"
            ) from error
        return made

    def from_schema(self, random: Random) -> dict[str, Any]:
        """An action that fits the schema, legal or not. Raises as :meth:`next` does."""
        made = sample_from_schema(self._schema, random)
        return made if isinstance(made, dict) else {"value": made}
