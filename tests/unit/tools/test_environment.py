import asyncio
from typing import Any

import pytest

from openenv_core.environment import Environment
from openenv_core.errors import EnvironmentFailedError, UnsupportedOperationError
from openenv_core.tools import (
    CallToolAction,
    CallToolObservation,
    EnvironmentWithTools,
    ListToolsAction,
    ToolAction,
    tool,
)
from openenv_core.types import Action, Observation, State


class Calculator(EnvironmentWithTools):
    """Adds."""

    def __init__(self) -> None:
        self.judged: list[CallToolObservation] = []

    def reset(self, *, seed: int | None = None) -> Observation:
        return Observation()

    @tool
    def add(self, a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    @tool
    async def later(self, text: str) -> str:
        """Later."""
        await asyncio.sleep(0)
        return text

    @tool(timeout_s=0.01)
    async def never(self) -> None:
        """Never."""
        await asyncio.Event().wait()

    @tool
    def fail(self, kind: str) -> None:
        """Fail."""
        if kind == "service":
            raise EnvironmentFailedError("the service is gone")
        raise TimeoutError(kind) if kind == "timeout" else ValueError(kind)

    @tool
    def odd(self) -> object:
        """What has no JSON form."""
        return object()

    def judge(self, observation: CallToolObservation) -> CallToolObservation:
        self.judged.append(observation)
        if observation.result is not None and observation.result.data == 7:
            observation.reward, observation.done = 1.0, True
        return observation


def do(environment: Any, action: Any) -> Any:
    return asyncio.run(environment.step(action))


def call(name: str, **arguments: Any) -> CallToolObservation:
    observation: CallToolObservation = do(Calculator(), CallToolAction(tool_name=name, arguments=arguments))
    assert isinstance(observation, CallToolObservation)
    assert observation.tool_name == name
    return observation


def test_the_tools_are_listed() -> None:
    listed = do(Calculator(), ListToolsAction())
    assert [one.name for one in listed.tools] == ["add", "later", "never", "fail", "odd"]


@pytest.mark.parametrize(("name", "arguments", "data"), [("add", {"a": "1"}, 3), ("later", {"text": "x"}, "x")])
def test_a_call_gives_what_the_tool_returns(name: str, arguments: dict[str, Any], data: Any) -> None:
    observation = call(name, **arguments)
    assert observation.result is not None
    assert (observation.result.data, observation.error) == (data, None)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "text"),
    [
        ("nope", {}, "tool_not_found", "Unknown tool: 'nope'"),
        ("add", {}, "invalid_args", "Field required"),
        ("add", {"a": 1, "z": 1}, "invalid_args", "Extra inputs"),
        ("fail", {"kind": "x"}, "execution_error", "Error calling tool 'fail': x"),
        ("fail", {"kind": "timeout"}, "execution_error", "Error calling tool 'fail': timeout"),
        ("never", {}, "timeout", "took longer than 0.01 s"),
        ("odd", {}, "execution_error", "no JSON form"),
        ("reset", {}, "tool_not_found", "Unknown tool"),
        ("__init__", {}, "tool_not_found", "Unknown tool"),
    ],
)
def test_what_goes_wrong_is_an_observation(name: str, arguments: dict[str, Any], kind: str, text: str) -> None:
    observation = call(name, **arguments)
    assert observation.result is None
    assert observation.error is not None
    assert observation.error.error_type == kind
    assert text in observation.error.message
    assert (observation.reward, observation.done) == (None, False)


def test_a_fault_of_the_world_is_no_observation() -> None:
    with pytest.raises(EnvironmentFailedError, match="the service is gone"):
        call("fail", kind="service")


def test_the_judge_sees_every_call_and_gives_reward_and_end() -> None:
    calculator = Calculator()
    won = do(calculator, CallToolAction(tool_name="add", arguments={"a": 5}))
    do(calculator, CallToolAction(tool_name="nope"))
    assert (won.reward, won.done) == (1.0, True)
    assert [one.tool_name for one in calculator.judged] == ["add", "nope"]


class Step(Action):
    by: int


class Walk(EnvironmentWithTools, Environment[Step, Observation, State]):
    """Tools beside actions of its own."""

    @tool
    def look(self) -> str:
        """Look."""
        return "a wall"

    async def act(self, action: Step) -> Observation:
        return Observation(reward=float(action.by))


def test_other_actions_go_another_way() -> None:
    assert do(Walk(), Step(by=2)).reward == 2
    assert do(Walk(), CallToolAction(tool_name="look")).result.data == "a wall"
    assert Walk.action_type() is Step
    assert Calculator.action_type() == ToolAction
    with pytest.raises(UnsupportedOperationError):
        do(Calculator(), Step(by=1))
