"""What an agent and the acme environment say to each other."""

from typing import Annotated, Any

from openenv_core import Action, Observation, State
from pydantic import Field

__all__ = ["AcmeAction", "AcmeObservation", "AcmeState"]

# One line for each space; the models are the place for better names than these.
ActionValue = Annotated[int, Field(ge=0, le=1)]
ObservationValue = list[Any]


class AcmeAction(Action):
    """Do ``action``."""

    action: ActionValue


class AcmeObservation(Observation):
    """What is seen.

    Attributes:
        observation: a value of the observation space, arrays as lists.
    """

    observation: ObservationValue


class AcmeState(State):
    """Episode id and number of steps."""
