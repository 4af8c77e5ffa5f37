"""What programs for the public package import from ``openenv.core``."""

from openenv_core import Action, EnvClient, GenericAction, GenericEnvClient, Observation, State, StepResult

__all__ = ["Action", "EnvClient", "GenericAction", "GenericEnvClient", "Observation", "State", "StepResult"]
