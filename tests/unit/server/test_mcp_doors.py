"""``/mcp`` by HTTP and WebSocket: whatever is sent is answered, and nothing is left behind."""

import json
from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from openenv_core.errors import LossReason
from tests.server.tooled import Shop
from tests.server.toys import socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually

CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"balance"}}'


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Shop, limits={"max_sessions": 1}) as running:
        yield running


def send(served: Served, content: bytes, method: str = "POST") -> httpx.Response:
    headers = {"content-type": "application/json"} if content else {}
    return httpx.request(method, f"{served.base_url}/mcp", content=content, headers=headers, trust_env=False)


class TestHttp:
    @pytest.mark.parametrize("content", [b"", b"{bad", b"[]", b"5", b"null", b'"text"', b"\xff"])
    def test_what_is_no_object_is_a_parse_error(self, served: Served, content: bytes) -> None:
        answer = send(served, content)
        assert answer.status_code == 200
        assert answer.json() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32700, "message": "Parse error", "data": None},
        }

    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
    def test_other_methods_are_none(self, served: Served, method: str) -> None:
        assert send(served, b"", method).status_code == 405

    def test_an_unknown_method_is_told(self, served: Served) -> None:
        answer = send(served, b'{"jsonrpc":"2.0","id":"x","method":"ping"}').json()
        assert (answer["id"], answer["error"]["code"]) == ("x", -32601)


class TestWebSocket:
    def test_a_socket_has_a_session_of_its_own(self, served: Served) -> None:
        with socket_of(served, "/mcp") as mcp:
            mcp.send('{"jsonrpc":"2.0","id":1,"method":"openenv/session/create"}')
            own = json.loads(mcp.recv(timeout=LIMIT_S))["result"]["session_id"]
            assert list(served.gateway.manager.sessions) == [own]
            mcp.send(CALL)
            assert "EPISODE_NOT_STARTED" in mcp.recv(timeout=LIMIT_S)
        eventually(lambda: served.active == 0)

    def test_nothing_that_is_sent_ends_it(self, served: Served) -> None:
        with socket_of(served, "/mcp") as mcp:
            for message, code in (
                ("{bad", -32700),
                ("[" * 100_000, -32700),
                ("[]", -32600),
                ("5", -32600),
                (b"\x00", -32700),
                ('{"id":5}', -32600),
            ):
                mcp.send(message)
                assert json.loads(mcp.recv(timeout=LIMIT_S))["error"]["code"] == code
            mcp.send('{"jsonrpc":"2.0","id":9,"method":"tools/list"}')
            assert len(json.loads(mcp.recv(timeout=LIMIT_S))["result"]["tools"]) == 3

    def test_requests_are_answered_in_order(self, served: Served) -> None:
        with socket_of(served, "/mcp") as mcp:
            for number in range(50):
                mcp.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}))
            assert [json.loads(mcp.recv(timeout=LIMIT_S))["id"] for _ in range(50)] == list(range(50))

    def test_at_capacity_it_is_told_and_closed(self, served: Served) -> None:
        with socket_of(served, "/mcp"), socket_of(served, "/mcp") as second:
            error = json.loads(second.recv(timeout=LIMIT_S))["error"]
            assert (error["code"], error["data"]) == (-32000, {"active_sessions": 1, "max_sessions": 1})
            with pytest.raises(ConnectionClosed) as closed:
                second.recv(timeout=LIMIT_S)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1000

    def test_a_session_that_ends_by_itself_says_so(self) -> None:
        with serving(Shop, limits={"idle_timeout_s": 0.2}) as served, socket_of(served, "/mcp") as mcp:
            told = json.loads(mcp.recv(timeout=LIMIT_S))["error"]
            assert told["data"] == {"reason": LossReason.IDLE_TIMEOUT}
            with pytest.raises(ConnectionClosed) as closed:
                mcp.recv(timeout=LIMIT_S)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4000, "idle_timeout")
