"""What programs for the public package import from ``openenv.core``."""

from openenv_core import Action, EnvClient, GenericEnvClient, Observation, State, StepResult

__all__ = ["Action", "EnvClient", "GenericEnvClient", "Observation", "State", "StepResult"]
