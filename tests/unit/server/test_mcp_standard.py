"""The official client of the Model Context Protocol plays an environment that it knows nothing of."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.server.tooled import Shop
from tests.server.toys import Parrot, post, socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually, until

client_module = pytest.importorskip("mcp.client", reason="the official SDK is not installed")
MCPError: Any = pytest.importorskip("mcp").MCPError

ACCEPT = "application/json, text/event-stream"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Shop, limits={"max_sessions": 2}) as running:
        yield running


def play(served: Served, work: Callable[[Any], Awaitable[Any]], mode: str = "auto") -> Any:
    """Connect, do something with the client, and disconnect."""

    async def run() -> Any:
        async with asyncio.timeout(4 * LIMIT_S):
            async with client_module.Client(f"{served.base_url}/mcp", mode=mode) as client:
                return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_initialize_list_and_call(served: Served, mode: str) -> None:
    async def work(client: Any) -> None:
        assert client.server_info.name == "toy"
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["buy"].description == "Buy a thing."
        assert tools["buy"].input_schema["required"] == ["thing"]
        assert tools["silent"].description == ""
        assert served.active == 0, "looking at the tools takes no slot"
        bought = await client.call_tool("buy", {"thing": "bread", "price": 4})
        assert bought.structured_content == {"thing": "bread", "left": 6}
        assert bought.meta["openenv"]["reward"] == 1.0
        left = await client.call_tool("balance", {})
        assert left.structured_content == {"result": 6}
        assert left.content[0].text == "6"
        assert [session.door for session in served.gateway.manager.sessions.values()] == ["mcp.http"]

    play(served, work, mode)
    eventually(lambda: served.active == 0)


def test_what_goes_wrong_in_a_tool_is_told_to_the_model(served: Served) -> None:
    async def work(client: Any) -> None:
        for name, arguments, text in (
            ("buy", {"thing": "car", "price": 99}, "car costs 99"),
            ("buy", {}, "Field required"),
            ("nope", {}, "Unknown tool: 'nope'"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert text in result.content[0].text

    play(served, work)


def test_clients_have_worlds_of_their_own_and_get_no_more_than_there_are(served: Served) -> None:
    async def work(first: Any) -> None:
        async def inner(second: Any) -> None:
            await first.call_tool("buy", {"thing": "a", "price": 3})
            await second.call_tool("buy", {"thing": "a", "price": 1})
            assert (await first.call_tool("balance", {})).structured_content == {"result": 7}
            assert (await second.call_tool("balance", {})).structured_content == {"result": 9}
            async with client_module.Client(f"{served.base_url}/mcp") as third:
                with pytest.raises(MCPError, match="Server at capacity: 2/2"):
                    await third.call_tool("balance", {})

        async with client_module.Client(f"{served.base_url}/mcp") as second:
            await inner(second)

    play(served, work)
    eventually(lambda: served.active == 0)


def test_calls_that_come_at_once_share_one_session(served: Served) -> None:
    async def work(client: Any) -> None:
        await asyncio.gather(*(client.call_tool("buy", {"thing": "a"}) for _ in range(8)))
        assert (await client.call_tool("balance", {})).structured_content == {"result": 2}
        assert served.gateway.manager.opened == 1

    play(served, work)


def test_after_the_end_of_an_episode_a_new_mcp_session_is_asked_for(served: Served) -> None:
    async def work(client: Any) -> None:
        last = await client.call_tool("buy", {"thing": "all", "price": 10})
        assert last.meta["openenv"]["done"] is True
        with pytest.raises(MCPError, match="a new MCP session starts the next one"):
            await client.call_tool("balance", {})

    play(served, work)


def test_a_session_that_is_lost_is_lost_to_its_client_too(served: Served) -> None:
    async def work(client: Any) -> None:
        await client.call_tool("balance", {})
        (name,) = served.gateway.manager.sessions
        closed = await asyncio.to_thread(httpx.delete, f"{served.base_url}/sessions/{name}", trust_env=False)
        assert closed.json()["closed"] is True
        await until(lambda: served.active == 0)
        with pytest.raises(MCPError):
            await client.call_tool("balance", {})
        assert served.gateway.manager.opened == 1, "no new world was given to it"

    play(served, work)


class TestRaw:
    def initialize(self, served: Served, **headers: str) -> httpx.Response:
        return post(served, "/mcp", INITIALIZE, Accept=ACCEPT, **headers)

    def test_a_session_is_its_caller_s(self, served: Served) -> None:
        opened = self.initialize(served, Authorization="Bearer one-caller")
        name = opened.headers["mcp-session-id"]
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "balance", "arguments": {}}}
        mine = post(served, "/mcp", call, Accept=ACCEPT, Authorization="Bearer one-caller", Mcp_Session_Id=name)
        assert mine.json()["result"]["structuredContent"] == {"result": 10}
        other = post(served, "/mcp", call, Accept=ACCEPT, Mcp_Session_Id=name)
        assert other.status_code == 404

    def test_a_version_without_sessions_is_refused_by_name(self, served: Served) -> None:
        answer = post(served, "/mcp", INITIALIZE, Accept=ACCEPT, Mcp_Protocol_Version="2099-01-01")
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == -32022
        assert "2025-06-18" in error["data"]["supported"]

    def test_an_unknown_session_is_404(self, served: Served) -> None:
        assert post(served, "/mcp", INITIALIZE, Accept=ACCEPT, Mcp_Session_Id="nope").status_code == 404

    def test_both_protocols_live_at_one_address(self, served: Served) -> None:
        assert self.initialize(served).json()["result"]["serverInfo"]["name"] == "toy"
        plain = post(served, "/mcp", INITIALIZE)
        assert plain.json()["error"]["code"] == -32601

    def test_an_environment_without_tools_is_no_mcp_server(self) -> None:
        with serving(Parrot) as toolless:
            assert self.initialize(toolless).json()["error"]["code"] == -32601

    def test_the_token_holds_here_too(self) -> None:
        with serving(Shop, limits={"token": "tok-123456"}) as guarded:
            assert self.initialize(guarded).status_code == 401
            assert self.initialize(guarded, Authorization="Bearer tok-123456").status_code == 200


def test_an_idle_client_gives_its_slot_back() -> None:
    with serving(Shop, limits={"http_idle_timeout_s": 0.3}) as served:

        async def work(client: Any) -> None:
            await client.call_tool("balance", {})
            await until(lambda: served.active == 0)
            with pytest.raises(MCPError):
                await client.call_tool("balance", {})

        play(served, work)


def test_a_server_with_open_connections_ends_in_order() -> None:
    with serving(Shop) as served, socket_of(served):

        async def work(client: Any) -> None:
            await client.call_tool("balance", {})
            served.server.should_exit = True
            await until(lambda: served.active == 0)

        play(served, work)
