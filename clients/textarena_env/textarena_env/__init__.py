"""Typed client of the TextArena environment."""

from textarena_env.client import TextArenaEnv
from textarena_env.models import TextArenaAction, TextArenaMessage, TextArenaObservation, TextArenaState

__all__ = ["TextArenaAction", "TextArenaEnv", "TextArenaMessage", "TextArenaObservation", "TextArenaState"]
