"""What an agent and the echo environment say to each other."""

from openenv_core.types import Action, Observation, State

__all__ = ["EchoAction", "EchoObservation", "EchoState"]


class EchoAction(Action):
    """Say ``message``."""

    message: str


class EchoObservation(Observation):
    """What came back.

    Attributes:
        echoed_message: the message of the last action; a greeting after ``reset``.
        message_length: number of its characters; the reward is 0.1 for each.
    """

    echoed_message: str = ""
    message_length: int = 0


class EchoState(State):
    """Episode id and number of steps; an echo has nothing else to tell."""
