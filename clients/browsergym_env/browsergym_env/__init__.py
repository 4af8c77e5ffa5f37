"""Typed client of the browser environment."""

from browsergym_env.client import BrowserGymEnv
from browsergym_env.models import BrowserGymAction, BrowserGymObservation, BrowserGymState, ObservationPart

__all__ = ["BrowserGymAction", "BrowserGymEnv", "BrowserGymObservation", "BrowserGymState", "ObservationPart"]
