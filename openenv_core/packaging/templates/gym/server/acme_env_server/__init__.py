"""Server of the acme environment."""

from openenv_core import EnvironmentSpec

from acme_env_server.environment import AcmeEnvironment, sample_action

__all__ = ["AcmeEnvironment", "spec"]

spec = EnvironmentSpec(
    name="acme_env",
    factory=AcmeEnvironment,
    client="acme_env:AcmeEnv",
    description="Gymnasium's CartPole-v1.",
    sample_action=sample_action,
)
