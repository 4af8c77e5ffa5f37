"""Typed client of the echo environment."""

from echo_env.client import EchoEnv
from echo_env.models import EchoAction, EchoObservation, EchoState

__all__ = ["EchoAction", "EchoEnv", "EchoObservation", "EchoState"]
