"""An environment of tools, for the tests of ``/mcp``."""

from typing import Any

from openenv_core.environment import EnvironmentSpec
from openenv_core.tools import CallToolObservation, EnvironmentWithTools, tool
from openenv_core.types import Observation, State

__all__ = ["Shop", "spec"]


class Shop(EnvironmentWithTools):
    """Buy something before the money is gone."""

    concurrency_safe = True
    execution = "inline"

    def __init__(self) -> None:
        self._money = 0
        self._calls = 0

    def reset(self, *, seed: int | None = None, money: int = 10) -> Observation:
        """Begin with so much money."""
        self._money, self._calls = money, 0
        return Observation(metadata={"money": money})

    @tool
    def balance(self) -> int:
        """How much money is left."""
        return self._money

    @tool
    def buy(self, thing: str, price: int = 1) -> dict[str, Any]:
        """Buy a thing.

        Args:
            thing: what to buy
            price: what it costs
        """
        if price > self._money:
            raise ValueError(f"{thing} costs {price}, and only {self._money} is left")
        self._money -= price
        return {"thing": thing, "left": self._money}

    @tool
    def silent(self, x):  # type: ignore[no-untyped-def]
        return x

    def judge(self, observation: CallToolObservation) -> CallToolObservation:
        """The last coin spent is the end."""
        self._calls += 1
        if observation.tool_name == "buy" and observation.result is not None:
            observation.reward = 1.0
            observation.done = self._money == 0
        return observation

    @property
    def state(self) -> State:
        """The number of calls."""
        return State(step_count=self._calls)


spec = EnvironmentSpec(name="shop", factory=Shop, client="tests.server.tooled:Shop")
