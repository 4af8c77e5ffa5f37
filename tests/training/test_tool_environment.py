"""What a tool environment promises to a trainer, a model and an author, on a real server."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from openenv_core.errors import ConfigurationError
from openenv_core.training import OwnsReward, ToolCallError, ToolEnvironment, tool_names, tool_problems
from tests.support.serving import Served
from tests.support.waiting import eventually
from tests.training.worlds import Climb, ClimbClient, ClimbTools, PaidClimbTools


@pytest.fixture
def tools(served: Served) -> Any:
    made = ClimbTools(served.base_url)
    yield made
    made._close()


def test_importing_it_loads_no_trainer() -> None:
    code = (
        "import sys, openenv_core.training, echo_env.tools, openspiel_env.tools, textarena_env.tools;"
        "assert not {'torch', 'trl', 'transformers', 'datasets', 'numpy', 'fastapi'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_only_what_an_author_wrote_is_a_tool() -> None:
    assert tool_names(ClimbTools) == ["climb", "climb_later", "muddle"]
    assert tool_names(PaidClimbTools) == tool_names(ClimbTools)
    assert tool_problems(ClimbTools) == []


def test_the_first_observation_is_set_apart_from_the_prompt(tools: ClimbTools) -> None:
    assert tools.reset(prompt=[], seed=1) == "\n\nThe top is 3 steps up."


def test_reset_passes_on_what_the_environment_knows_and_nothing_else(tools: ClimbTools) -> None:
    tools.reset(prompt=[{"role": "user", "content": "go"}], seed=1, top=None, colour="red", environment="climb")
    assert tools.episode.options == {"seed": 1}
    assert tools.reset(seed=1, top=7) == "\n\nThe top is 7 steps up."


def test_a_column_that_does_not_fit_stops_with_its_name(tools: ClimbTools) -> None:
    with pytest.raises(ConfigurationError, match="top"):
        tools.reset(top="high")


def test_an_episode_is_played_and_its_end_is_an_error_to_the_model(tools: ClimbTools) -> None:
    tools.reset(top=3)
    assert tools.climb(by=2) == "1 steps to go."
    assert not tools.done
    assert tools.climb(by=1) == "There."
    assert (tools.reward, tools.done, tools.success) == (1.0, True, True)
    with pytest.raises(ToolCallError, match="over"):
        tools.climb(by=1)
    assert tools.episode.steps == 2


def test_a_call_before_reset_is_an_error(tools: ClimbTools) -> None:
    with pytest.raises(ToolCallError, match="has not called reset"):
        tools.climb(by=1)


def test_each_episode_has_a_session_of_its_own(tools: ClimbTools, served: Served) -> None:
    tools.reset(top=3)
    first = tools._client.session_id
    tools.reset(top=3)
    assert tools._client.session_id not in (None, first)
    eventually(lambda: served.active == 1)


def test_what_a_model_does_wrong_is_told_and_counted_and_is_no_fault(tools: ClimbTools) -> None:
    tools.reset(top=3)
    with pytest.raises(ToolCallError, match="must be 1 or 2"):
        tools.climb(by=5)
    wrong: Any = tools
    with pytest.raises(ToolCallError, match="climb: missing a required argument: 'by'"):
        wrong.climb()
    assert tools.episode.invalid_actions == 2
    assert tools.episode.fault is None
    assert tools.climb(by=1) == "2 steps to go."


def test_a_crash_of_the_environment_is_a_fault_and_no_reward(tools: ClimbTools) -> None:
    tools.reset(top=3)
    tools.climb(by=1)
    with pytest.raises(ToolCallError, match="Call no more tools"):
        tools.climb(by=13)
    assert tools.reward is None
    assert tools.episode.fault is not None
    assert tools.episode.fault.reason == "environment"
    with pytest.raises(ToolCallError, match="has failed"):
        tools.climb(by=1)
    tools.reset(top=1)
    assert tools.episode.fault is None


def test_a_mistake_in_a_tool_is_not_the_models(tools: ClimbTools) -> None:
    tools.reset(top=3)
    with pytest.raises(ToolCallError, match="has failed"):
        tools.muddle()
    assert tools.episode.fault is not None
    assert tools.episode.fault.reason == "tool_code"
    assert "KeyError" in tools.episode.fault.message


def test_an_awaiting_tool_keeps_the_same_rules(tools: ClimbTools) -> None:
    tools.reset(top=3)
    assert asyncio.run(tools.climb_later(by=2)) == "1 steps to go."
    with pytest.raises(ToolCallError):
        asyncio.run(tools.climb_later(by=13))
    assert tools.reward is None


def test_tools_work_inside_a_running_loop_and_from_other_threads(tools: ClimbTools) -> None:
    async def play() -> str:
        await asyncio.to_thread(tools.reset, top=3)
        tools.climb(by=1)
        return await asyncio.to_thread(tools.climb, by=1)

    assert asyncio.run(play()) == "1 steps to go."


def test_an_environment_may_own_its_reward(served: Served) -> None:
    tools = PaidClimbTools(served.base_url)
    tools.reset(top=1)
    tools.climb(by=1)
    assert tools.get_reward() == 1.0
    tools.reset(top=3)
    with pytest.raises(ToolCallError):
        tools.climb(by=13)
    assert tools.get_reward() is None
    tools._close()


def test_a_class_without_a_client_is_refused() -> None:
    class Bare(ToolEnvironment[Any]):
        pass

    with pytest.raises(ConfigurationError, match="client_type"):
        Bare("http://127.0.0.1:1")


def test_what_no_schema_can_be_made_of_is_named() -> None:
    class Poor(OwnsReward, ToolEnvironment[ClimbClient]):
        client_type = ClimbClient

        def undocumented(self) -> str:
            return ""

        def untyped(self, x) -> str:  # type: ignore[no-untyped-def]
            """Do it.

            Args:
                x: A thing.
            """
            return str(x)

        def undescribed(self, y: int) -> str:
            """Do it."""
            return str(y)

        @staticmethod
        def helper() -> str:
            """Not a tool to every trainer."""
            return ""

    problems = "\n".join(tool_problems(Poor))
    assert "Poor.undocumented: it has no docstring" in problems
    assert "Poor.untyped: parameter 'x' has no type hint" in problems
    assert "Poor.undescribed: parameter 'y' is not described" in problems
    assert "Poor.helper: trainers differ" in problems
    assert Climb.__name__ not in problems
