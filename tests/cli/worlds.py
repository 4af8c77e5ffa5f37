"""Environments that the commands are pointed at."""

import os
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from openenv_core.environment import Environment, EnvironmentSpec
from openenv_core.errors import ConfigurationError
from openenv_core.types import Action, Observation, State

__all__ = ["STEERING", "Kitchen", "Order", "Served", "games", "spec"]

STEERING = "\x1b[2J\x1b[31m"
"""What clears a terminal and turns it red, where it is not told apart from text."""


class Order(Action):
    """Order a dish.

    Attributes:
        dish: what is cooked.
        count: how many of it.
        now: whether it is urgent.
    """

    dish: Literal["soup", "bread"]
    count: int = Field(ge=1, le=5)
    now: bool
    note: str = "no note"


class Served(Observation):
    """What comes out of the kitchen."""

    plate: str
    secret_of_the_chef: str | None = None


class Kitchen(Environment[Order, Served, State]):
    """Cooks what is ordered, and closes after the third order; five breads set it on fire."""

    concurrency_safe = True
    execution = "inline"

    def __init__(self) -> None:
        self._orders = 0

    def reset(self, *, seed: int | None = None, episode_id: str | None = None, guests: int = 1) -> Served:
        """Open the kitchen."""
        self._orders = 0
        return Served(plate=f"{STEERING}Open for {guests}, seed {seed}")

    def step(self, action: Order) -> Served:
        """Cook."""
        if (action.dish, action.count) == ("bread", 5):
            raise RuntimeError("fire")
        self._orders += 1
        plate = f"{action.count} {action.dish}, {'at once' if action.now else 'later'}, {action.note}"
        return Served(plate=plate, reward=0.5, done=self._orders == 3)

    @property
    def state(self) -> State:
        """How many orders there were."""
        return State(step_count=self._orders)


@dataclass(frozen=True)
class Dish:
    """A game of the kitchen."""

    env_id: str
    runs: bool
    note: str = ""


def games() -> list[Dish]:
    """One that can be cooked and one that cannot."""
    return [Dish("Soup-v0", True), Dish("Cake-v0", False, "the oven is broken")]


def check() -> None:
    """Refuse a kitchen that cannot be heated."""
    if os.environ.get("KITCHEN_HEAT") == "none":
        raise ConfigurationError("KITCHEN_HEAT='none': must be gas or coal")


def _spec(**more: Any) -> EnvironmentSpec:
    return EnvironmentSpec(name="kitchen", factory=Kitchen, client="tests.cli.worlds:Kitchen", **more)


spec = _spec(
    description="A kitchen.",
    variants={"coal": {"KITCHEN_HEAT": "coal"}},
    variables={"KITCHEN_HEAT": "what heats it"},
    games=f"{__name__}:games",
    check=check,
)
