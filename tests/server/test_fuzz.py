"""Whatever is sent, the answer is a documented one, the log knows of no unforeseen failure, and the server goes on."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from websockets.exceptions import ConnectionClosed

from openenv_core import errors
from openenv_core.wire.frames import ServerFrame
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S

from .tooled import Shop
from .toys import Parrot, socket_of

V1_CODES = {
    "INVALID_JSON",
    "UNKNOWN_TYPE",
    "VALIDATION_ERROR",
    "EXECUTION_ERROR",
    "CAPACITY_REACHED",
    "FACTORY_ERROR",
    "SESSION_ERROR",
}
CODES = {cls.code for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, errors.OpenEnvError)}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def object_of(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object with any of these fields, right or wrong, and perhaps with others."""
    known = st.fixed_dictionaries({}, optional={name: value | JSON for name, value in fields.items()})
    return st.builds(
        lambda known, more: {**more, **known}, known, st.dictionaries(st.text(max_size=6), JSON, max_size=2)
    )


SAY = object_of(text=st.text(max_size=30), fail=st.just("") | st.just("boom"), metadata=object_of())
TOOL = object_of(
    type=st.sampled_from(["call_tool", "list_tools"]),
    tool_name=st.sampled_from(["buy", "balance", "silent", "nope"]),
    arguments=object_of(thing=st.text(max_size=5), price=st.integers(-2, 12), x=JSON),
)
OPTIONS = object_of(
    seed=st.integers(-1, 2**70), episode_id=st.text(max_size=300), fail=st.just(""), money=st.integers()
)
RPC = object_of(
    jsonrpc=st.just("2.0"),
    id=st.integers() | st.text(max_size=4) | st.none(),
    method=st.sampled_from(["tools/list", "tools/call", "initialize", "openenv/session/close"]),
    params=object_of(name=st.sampled_from(["buy", "nope"]), arguments=object_of(), session_id=st.text(max_size=5)),
)
V1 = object_of(
    type=st.sampled_from(["reset", "step", "state", "mcp", "close?"]), data=SAY | TOOL | OPTIONS | RPC
) | object_of(type=st.just("step"), data=SAY)
V2 = object_of(
    id=st.integers(1, 50),
    session=st.just("@") | st.text(max_size=5),
    type=st.sampled_from(["open", "reset", "step", "state", "cancel"]),
    data=SAY
    | TOOL
    | OPTIONS
    | object_of(wait_s=st.floats(-1, 0.01), session=st.text(max_size=3), token=st.text(max_size=3)),
    timeout_s=st.floats(0.01, 5),
)


def text_of(value: Any) -> str:
    # Escaped throughout: a text frame cannot carry half of a surrogate pair, JSON can.
    return json.dumps(value, ensure_ascii=True)


def messages(frames: st.SearchStrategy[Any]) -> st.SearchStrategy[list[str | bytes]]:
    one = frames.map(text_of) | JSON.map(text_of) | st.text(max_size=40) | st.binary(max_size=20)
    return st.lists(one, min_size=1, max_size=6)


@pytest.fixture(scope="module", params=[Parrot, Shop], ids=["actions", "tools"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    limits = {"max_sessions": 64, "http_idle_timeout_s": 1.0, "resume_grace_s": 0.05}
    with serving(request.param, limits=limits) as running:
        yield running


@pytest.fixture(scope="module")
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.base_url, trust_env=False, timeout=LIMIT_S) as client:
        yield client


@pytest.fixture(autouse=True)
def unforeseen(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing may reach the net that is spread for what nobody has thought of."""
    caplog.set_level(logging.WARNING)
    yield
    told = [record.getMessage() for record in caplog.records]
    assert [
        text for text in told if "unexpected" in text or "Exception in ASGI" in text or "never retrieved" in text
    ] == []


BODIES = {
    "/reset": OPTIONS,
    "/step": object_of(action=SAY | TOOL, timeout_s=st.floats(0.1, 5), request_id=st.text(max_size=300)),
    "/mcp": RPC,
    "/toy/tasks": object_of(split=st.text(max_size=5)),
    "/toy/task": object_of(split=st.text(max_size=5), index=st.integers()),
    "/toy/task_range": object_of(split=st.text(max_size=5), start=st.integers(), stop=st.integers()),
}


def documented(http: httpx.Client, path: str, method: str) -> set[int]:
    """The statuses that the server's own description gives a route."""
    if path == "/mcp":
        return {200}  # errors of JSON-RPC are answers like any other
    described = http.get("/openapi.json").json()["paths"]
    template = path.replace("/toy/", "/{env_name}/")
    return {int(status) for status in described[template][method]["responses"]}


@settings(max_examples=120)
@given(data=st.data(), path=st.sampled_from(sorted(BODIES)))
def test_http_bodies(http: httpx.Client, data: st.DataObject, path: str) -> None:
    text = data.draw(BODIES[path].map(text_of) | JSON.map(text_of))
    content = data.draw(st.just(text.encode()) | st.binary(max_size=50))
    headers = {"Content-Type": "application/json"}
    http.cookies.clear()
    answer = http.post(path, content=content, headers=headers)
    assert answer.status_code in documented(http, path, "post")
    told = answer.json()
    if answer.status_code == 200:
        return
    assert "detail" in told
    if answer.status_code == 500:
        assert told["code"] in CODES
        assert told["details"]["error_id"]


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"]),
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=30),
    headers=st.dictionaries(
        st.sampled_from(["Cookie", "X-OpenEnv-Session", "Accept", "Mcp-Session-Id", "Authorization", "Content-Type"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip),
        max_size=3,
    ),
)
def test_http_heads(http: httpx.Client, method: str, path: str, headers: dict[str, str]) -> None:
    answer = http.request(method, f"/{path.lstrip('/')}", headers=headers)
    assert answer.status_code < 500 or answer.status_code in (501, 503)


@given(sent=messages(V1))
def test_version_1(served: Served, sent: list[str | bytes]) -> None:
    with socket_of(served) as v1:
        for message in sent:
            v1.send(message)
            reply = json.loads(v1.recv(timeout=LIMIT_S))
            assert reply["type"] in ("observation", "state", "error", "mcp")
            if reply["type"] == "error":
                assert reply["data"]["code"] in V1_CODES
                assert reply["data"]["message"]
        v1.send('{"type":"state"}')
        assert json.loads(v1.recv(timeout=LIMIT_S))["type"] == "state"


FRAMES: TypeAdapter[Any] = TypeAdapter(ServerFrame)


@given(sent=messages(V2 | st.lists(V2, max_size=4)))
def test_version_2(served: Served, sent: list[str | bytes]) -> None:
    with socket_of(served, v2=True) as v2:
        assert json.loads(v2.recv(timeout=LIMIT_S))["type"] == "hello"
        v2.send('{"id":1000001,"type":"open","data":{}}')
        session = json.loads(v2.recv(timeout=LIMIT_S))["session"]
        for message in sent:
            v2.send(message.replace('"@"', f'"{session}"') if isinstance(message, str) else message)
        v2.send(f'{{"id":1000002,"session":"{session}","type":"state"}}')
        seen: set[int | None] = set()
        while 1000002 not in seen:
            told = json.loads(v2.recv(timeout=LIMIT_S))
            for frame in told if isinstance(told, list) else [told]:
                read = FRAMES.validate_python(frame)
                seen.add(read.id)
                assert read.type != "error" or read.data.code in CODES


@given(sent=messages(RPC))
def test_tools_over_a_socket(served: Served, sent: list[str | bytes]) -> None:
    with socket_of(served, "/mcp") as mcp:
        for message in sent:
            mcp.send(message)
            answer = json.loads(mcp.recv(timeout=LIMIT_S))
            assert answer["jsonrpc"] == "2.0"
            assert ("result" in answer) is not ("error" in answer)
            if "error" in answer:
                assert answer["error"]["code"] in (-32700, -32600, -32601, -32602, -32603, -32000)
        try:
            mcp.send('{"jsonrpc":"2.0","id":"last","method":"nope"}')
            assert json.loads(mcp.recv(timeout=LIMIT_S))["id"] == "last"
        except ConnectionClosed:
            pytest.fail("the socket was closed")
