"""Server of the acme environment."""

from openenv_core import EnvironmentSpec

from acme_env_server.environment import AcmeEnvironment

__all__ = ["AcmeEnvironment", "spec"]

spec = EnvironmentSpec(
    name="acme_env",
    factory=AcmeEnvironment,
    client="acme_env:AcmeEnv",
    description="Think of a number, and answer guesses with higher or lower.",
)
