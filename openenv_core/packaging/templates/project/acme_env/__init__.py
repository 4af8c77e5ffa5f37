"""Typed client of the acme environment."""

from acme_env.client import AcmeEnv
from acme_env.models import AcmeAction, AcmeObservation, AcmeState

__all__ = ["AcmeAction", "AcmeEnv", "AcmeObservation", "AcmeState"]
