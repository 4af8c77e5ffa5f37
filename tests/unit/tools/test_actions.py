from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from openenv_core.tools.actions import CallToolAction, ListToolsAction, ToolAction, with_tool_actions
from openenv_core.types import Action

TOOLS: TypeAdapter[Any] = TypeAdapter(ToolAction)


class Move(Action):
    to: int


MIXED: TypeAdapter[Any] = TypeAdapter(with_tool_actions(Move))


@pytest.mark.parametrize("adapter", [TOOLS, MIXED])
@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('{"type":"list_tools"}', ListToolsAction()),
        ('{"type":"call_tool","tool_name":"a"}', CallToolAction(tool_name="a")),
        ('{"type":"call_tool","tool_name":"a","arguments":{"b":1}}', CallToolAction(tool_name="a", arguments={"b": 1})),
    ],
)
def test_tool_actions_are_known_by_their_type(adapter: TypeAdapter[Any], text: str, action: Any) -> None:
    assert adapter.validate_json(text) == action
    assert adapter.validate_python(action) is action


def test_without_a_type_it_is_a_call() -> None:
    assert TOOLS.validate_python({"tool_name": "a"}) == CallToolAction(tool_name="a")


def test_the_problems_are_those_of_the_action_that_was_meant() -> None:
    with pytest.raises(ValidationError) as refused:
        TOOLS.validate_json('{"type":"x"}')
    assert [(p["type"], p["loc"]) for p in refused.value.errors()] == [
        ("literal_error", ("type",)),
        ("missing", ("tool_name",)),
    ]
    with pytest.raises(ValidationError) as refused:
        TOOLS.validate_json('{"type":"list_tools","tool_name":"a"}')
    assert [(p["type"], p["loc"]) for p in refused.value.errors()] == [("extra_forbidden", ("tool_name",))]


def test_an_environment_s_own_actions_stay_what_they_are() -> None:
    assert MIXED.validate_json('{"to":3}') == Move(to=3)
    with pytest.raises(ValidationError) as refused:
        MIXED.validate_json('{"to":"x"}')
    assert [problem["loc"] for problem in refused.value.errors()] == [("to",)]


@pytest.mark.parametrize("action", [Action, CallToolAction, ListToolsAction, ToolAction])
def test_any_name_of_the_tool_actions_means_both(action: Any) -> None:
    assert with_tool_actions(action) == ToolAction


def test_both_have_a_schema() -> None:
    assert set(TOOLS.json_schema()["$defs"]) == {"CallToolAction", "ListToolsAction"}
    assert set(MIXED.json_schema()["$defs"]) == {"CallToolAction", "ListToolsAction", "Move"}
