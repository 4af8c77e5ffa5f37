"""What an agent and the acme environment say to each other."""

from typing import Annotated

from openenv_core import Action, Observation, State
from pydantic import Field

__all__ = ["AcmeAction", "AcmeObservation", "AcmeState"]


class AcmeAction(Action):
    """Guess ``number``."""

    number: Annotated[int, Field(ge=1, le=1000)]


class AcmeObservation(Observation):
    """What the guess was worth.

    Attributes:
        hint: whether the number sought is higher, lower, or found; after ``reset`` the task.
        guesses_left: how many guesses there are.
    """

    hint: str
    guesses_left: int


class AcmeState(State):
    """What may be known of a session. Never the number sought.

    Attributes:
        top: the number sought is from 1 to ``top``.
    """

    top: int = 100
