"""Tools that a server offers, as a tool environment, without a class of the client's."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from openenv_core.errors import ConfigurationError
from openenv_core.tools import EnvironmentWithTools, tool
from openenv_core.training import ToolCallError, environment_factory, tool_problems, tool_schemas
from openenv_core.training.evaluation import evaluate
from openenv_core.training.models import ApiModel
from openenv_core.training.served_tools import served_tools
from openenv_core.types import Observation, State
from tests.cli.api import api
from tests.support.serving import Served, serving
from tests.training.worlds import Climb


class Shop(EnvironmentWithTools):
    """Buys three apples: that solves it."""

    concurrency_safe = True

    def __init__(self) -> None:
        self._count = 0

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> Observation:
        """Open."""
        self._count = 0
        return Observation()

    @tool
    def buy(self, count: int, kind: Literal["apple", "pear"] = "apple") -> str:
        """Buy fruit.

        Args:
            count: how many
            kind: of what
        """
        if count < 1:
            raise ValueError("buy one at least")
        self._count += count if kind == "apple" else 0
        return f"{self._count} apples"

    def judge(self, observation: Any) -> Any:
        """Three are enough."""
        done = self._count >= 3
        return observation.model_copy(update={"done": done, "reward": float(done), "success": done or None})

    @property
    def state(self) -> State:
        """Nothing to tell."""
        return State()


@pytest.fixture
def shop() -> Iterator[Served]:
    """A server of the shop."""
    with serving(Shop, env_name="shop") as running:
        yield running


def test_they_are_methods_that_a_model_can_be_told_about(shop: Served) -> None:
    cls = served_tools(shop.base_url)
    assert tool_problems(cls) == []
    (schema,) = tool_schemas(cls)
    assert schema["function"]["name"] == "buy"
    assert schema["function"]["description"].startswith("Buy fruit.")
    properties = schema["function"]["parameters"]["properties"]
    assert properties["count"] == {"type": "integer", "description": "how many"}
    assert properties["kind"]["enum"] == ["apple", "pear"]
    assert schema["function"]["parameters"]["required"] == ["count"]


def test_they_are_played(shop: Served) -> None:
    with environment_factory(served_tools(shop.base_url), shop.base_url) as factory:
        tools: Any = factory()
        tools.reset(seed=1)
        assert tools.buy(count=2) == "2 apples"
        assert "buy one at least" in tools.buy(count=0)
        with pytest.raises(ToolCallError, match="missing a required argument"):
            tools.buy()
        assert tools.episode.invalid_actions == 2
        assert tools.buy(count=1, kind="apple") == "3 apples"
        assert (tools.done, tools.success, tools.reward) == (True, True, 1.0)


def test_a_model_is_evaluated_on_them(shop: Served) -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        function = {"name": body["tools"][0]["function"]["name"], "arguments": '{"count": 3}'}
        return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}

    with api(answer) as served:
        model = ApiModel(served.base_url)
        factory = environment_factory(served_tools(shop.base_url), shop.base_url)
        found = evaluate(factory, model, [0, 1], prompt="Buy three apples.")
        model.close()
    assert found.summary()["solved"] == 2


def test_a_server_without_tools_is_refused() -> None:
    with serving(Climb, env_name="climb") as climb, pytest.raises(ConfigurationError, match="offers no tools"):
        served_tools(climb.base_url)
