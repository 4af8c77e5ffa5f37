"""Tools over JSON-RPC, at a live server."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from openenv_core.client import EnvClient
from openenv_core.tools import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    ToolAction,
    ToolObservation,
)
from openenv_core.types import Observation, State
from tests.server.tooled import Shop
from tests.server.toys import Parrot, post, socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually


class Shopper(EnvClient[Any, Any, State]):
    """A typed client of an environment of tools."""

    action_type, observation_type, state_type = ToolAction, ToolObservation, State


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Shop, limits={"max_sessions": 2, "resume_grace_s": 60.0}) as running:
        yield running


@pytest.fixture
def toolless() -> Iterator[Served]:
    with serving(Parrot) as running:
        yield running


def ask(served: Served, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = post(served, "/mcp", body)
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    assert told["id"] == 7
    return told


def call(served: Served, name: str, session: str | None = None, **arguments: Any) -> dict[str, Any]:
    named = {"session_id": session} if session is not None else {}
    return ask(served, "tools/call", name=name, arguments=arguments, **named)


def create(served: Served) -> str:
    return str(ask(served, "openenv/session/create")["result"]["session_id"])


class TestTools:
    def test_every_tool_is_listed_also_one_without_a_docstring(self, served: Served) -> None:
        tools = {tool["name"]: tool for tool in ask(served, "tools/list")["result"]["tools"]}
        assert list(tools) == ["balance", "buy", "silent"]
        assert tools["silent"]["description"] == ""
        assert tools["buy"]["inputSchema"]["properties"]["thing"] == {"type": "string", "description": "what to buy"}
        assert served.gateway.manager.opened == 0, "looking at the tools takes no slot"

    def test_a_call_without_a_session_has_one_for_itself(self, served: Served) -> None:
        assert call(served, "balance")["result"]["data"] == 10
        assert call(served, "balance")["result"]["data"] == 10
        assert (served.gateway.manager.opened, served.active) == (2, 0)

    def test_what_a_call_earned_is_told(self, served: Served) -> None:
        result = call(served, "buy", thing="bread", price=10)["result"]
        assert result["structured_content"] == {"thing": "bread", "left": 0}
        assert result["meta"] == {"openenv": {"reward": 1.0, "done": True, "truncated": False}}

    @pytest.mark.parametrize(
        ("params", "code", "text"),
        [
            ({}, -32602, "Missing 'name'"),
            ({"name": "nope"}, -32603, "Unknown tool: 'nope'"),
            ({"name": "buy"}, -32603, "Field required"),
            ({"name": "buy", "arguments": {"thing": "car", "price": 99}}, -32603, "car costs 99"),
            ({"name": 5}, -32603, "a tool's name is a text"),
            ({"name": "buy", "arguments": [1]}, -32603, "its arguments are an object"),
            ({"name": "balance", "session_id": "nope"}, -32602, "Unknown session_id: nope"),
        ],
    )
    def test_errors(self, served: Served, params: dict[str, Any], code: int, text: str) -> None:
        error = ask(served, "tools/call", **params)["error"]
        assert error["code"] == code
        assert text in error["message"]
        assert served.active == 0

    def test_an_environment_without_tools_says_so(self, toolless: Served) -> None:
        told = {"code": -32603, "message": "Environment does not support MCP", "data": None}
        assert ask(toolless, "tools/list")["error"] == told
        assert call(toolless, "balance")["error"] == told

    def test_at_capacity(self, served: Served) -> None:
        with socket_of(served), socket_of(served):
            eventually(lambda: served.active == 2)
            error = call(served, "balance")["error"]
            assert (error["code"], error["data"]) == (-32000, {"active_sessions": 2, "max_sessions": 2})
            assert ask(served, "openenv/session/create")["error"]["code"] == -32000


class TestSessions:
    def test_calls_of_a_session_belong_together(self, served: Served) -> None:
        session = create(served)
        assert call(served, "balance", session)["error"]["data"]["code"] == "EPISODE_NOT_STARTED"
        with socket_of(served, f"/ws?session_id={session}") as attached:
            attached.send('{"type":"reset","data":{"money":3}}')
            assert json.loads(attached.recv(timeout=LIMIT_S))["data"]["observation"]["metadata"] == {"money": 3}
            assert call(served, "buy", session, thing="a")["result"]["data"] == {"thing": "a", "left": 2}
            attached.send('{"type":"step","data":{"tool_name":"balance"}}')
            assert json.loads(attached.recv(timeout=LIMIT_S))["data"]["observation"]["result"]["data"] == 2
            attached.send('{"type":"state"}')
            assert json.loads(attached.recv(timeout=LIMIT_S))["data"]["step_count"] == 2
        assert served.gateway.manager.opened == 1

    def test_a_session_is_ended_once(self, served: Served) -> None:
        session = create(served)
        assert ask(served, "openenv/session/close", session_id=session)["result"]["closed"] is True
        assert served.active == 0
        assert ask(served, "openenv/session/close", session_id=session)["error"]["code"] == -32602
        assert ask(served, "openenv/session/close")["error"]["message"] == "Invalid params - 'session_id' is required"

    def test_one_on_a_socket_ends_with_the_socket(self, served: Served) -> None:
        session = create(served)
        with socket_of(served, f"/ws?session_id={session}") as attached:
            attached.send('{"type":"reset"}')
            attached.recv(timeout=LIMIT_S)
            told = ask(served, "openenv/session/close", session_id=session)["result"]
            assert told == {"session_id": session, "closed": False, "closing": True}
            attached.send('{"type":"state"}')
            assert '"state"' in attached.recv(timeout=LIMIT_S)
        eventually(lambda: served.active == 0)

    def test_another_caller_does_not_get_in_by_its_name(self, served: Served) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
        session = post(served, "/mcp", body, Authorization="Bearer one-caller").json()["result"]["session_id"]
        assert call(served, "balance", session)["error"]["message"] == f"Unknown session_id: {session}"
        with socket_of(served, f"/ws?session_id={session}") as attached:
            assert "Unknown session_id" in attached.recv(timeout=LIMIT_S)


class TestFrames:
    def test_frames_of_the_socket_s_own_session(self, served: Served) -> None:
        with socket_of(served) as v1:

            def ask_there(method: str, **params: Any) -> Any:
                v1.send(
                    json.dumps({"type": "mcp", "data": {"jsonrpc": "2.0", "id": 3, "method": method, "params": params}})
                )
                frame = json.loads(v1.recv(timeout=LIMIT_S))
                assert frame["type"] == "mcp"
                return frame["data"]

            v1.send('{"type":"reset","data":{"money":4}}')
            v1.recv(timeout=LIMIT_S)
            own = ask_there("openenv/session/create")["result"]["session_id"]
            assert own in served.gateway.manager.sessions
            assert ask_there("tools/call", name="balance")["result"]["data"] == 4
            assert len(ask_there("tools/list")["result"]["tools"]) == 3
            assert ask_there("openenv/session/close", session_id=own)["error"]["code"] == -32600
            assert ask_there("initialize")["error"]["code"] == -32601

    def test_an_environment_without_tools_answers_in_the_same_frames(self, toolless: Served) -> None:
        with socket_of(toolless) as v1:
            v1.send('{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}')
            frame = json.loads(v1.recv(timeout=LIMIT_S))
            assert frame["data"]["error"]["message"] == "Environment does not support MCP"
            v1.send('{"type":"mcp","data":{"id":1}}')
            assert json.loads(v1.recv(timeout=LIMIT_S))["data"]["error"]["code"] == -32600


class TestSteps:
    def test_tools_are_actions_of_a_step(self, served: Served) -> None:
        with socket_of(served) as v1:

            def step(**action: Any) -> Any:
                v1.send(json.dumps({"type": "step", "data": action}))
                return json.loads(v1.recv(timeout=LIMIT_S))["data"]

            v1.send('{"type":"reset"}')
            v1.recv(timeout=LIMIT_S)
            assert [tool["name"] for tool in step(type="list_tools")["observation"]["tools"]] == [
                "balance",
                "buy",
                "silent",
            ]
            bought = step(type="call_tool", tool_name="buy", arguments={"thing": "a", "price": 10})
            assert (bought["reward"], bought["done"]) == (1.0, True)
            assert step(tool_name="balance")["error"] == "EPISODE_OVER"

    def test_a_typed_client_gets_each_observation_as_what_it_is(self, served: Served) -> None:
        with Shopper(served.base_url) as client:
            assert type(client.reset(money=3).observation) is Observation
            listed = client.step(ListToolsAction()).observation
            assert isinstance(listed, ListToolsObservation)
            assert [one.name for one in listed.tools] == ["balance", "buy", "silent"]
            bought = client.step(CallToolAction(tool_name="buy", arguments={"thing": "a"}))
            assert isinstance(bought.observation, CallToolObservation)
            assert bought.observation.result is not None
            assert (bought.observation.result.data, bought.reward) == ({"thing": "a", "left": 2}, 1.0)

    def test_their_schema_is_told(self, served: Served) -> None:
        schema = httpx.get(f"{served.base_url}/schema", trust_env=False).json()["action"]
        assert set(schema["$defs"]) == {"CallToolAction", "ListToolsAction"}
