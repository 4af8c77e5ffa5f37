"""Who may come in: refused means that nothing was built, on every door."""

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from openenv_core.client import GenericEnvClient
from openenv_core.errors import UnauthorizedError
from openenv_core.server import create_app
from openenv_core.settings import ServerSettings
from openenv_core.types import State
from tests.support.serving import Served, serving

from .toys import Parrot, Said, Say, handshake_status, post, raw_connection, socket_of

TOKEN = "a-token-for-tests"
BEARER = f"Bearer {TOKEN}"

GETS = ["/metadata", "/schema", "/state", "/docs", "/openapi.json", "/list_environments", "/toy/splits", "/nowhere"]
POSTS = ["/reset", "/step", "/toy/tasks", "/toy/task"]


@pytest.fixture
def guarded() -> Iterator[Served]:
    Parrot.built = 0
    with serving(Parrot, limits={"token": TOKEN}) as served:
        yield served


@pytest.fixture
def open_server() -> Iterator[Served]:
    Parrot.built = 0
    with serving(Parrot, limits={"allowed_origins": ("https://lab.test",)}) as served:
        yield served


def get(served: Served, path: str, **headers: str) -> httpx.Response:
    return httpx.get(served.base_url + path, headers=headers, trust_env=False, timeout=15)


class TestToken:
    @pytest.mark.parametrize("given", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}x"}])
    def test_without_it_every_route_refuses(self, guarded: Served, given: dict[str, str]) -> None:
        answers = [get(guarded, path, **given) for path in GETS] + [post(guarded, path, {}, **given) for path in POSTS]
        assert {answer.status_code for answer in answers} == {401}
        for answer in answers:
            body = answer.json()
            assert body["code"] == "UNAUTHORIZED"
            assert TOKEN not in answer.text
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert (Parrot.built, guarded.gateway.manager.opened) == (0, 0)

    @pytest.mark.parametrize("v2", [False, True])
    @pytest.mark.parametrize("path", ["/ws", "/ws?session_id=x", "/mcp", "/nowhere"])
    def test_without_it_no_handshake_succeeds(
        self, guarded: Served, path: str, v2: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert handshake_status(guarded, path, v2=v2) == 401
        assert handshake_status(guarded, path, v2=v2, Authorization="Bearer wrong") == 401
        assert (Parrot.built, guarded.active) == (0, 0)
        assert caplog.records == [], "a refusal is nothing for the log of errors"

    def test_health_is_open_and_tells_nothing_else(self, guarded: Served) -> None:
        answer = get(guarded, "/health")
        assert (answer.status_code, answer.json()) == (200, {"status": "healthy"})

    def test_with_it_everything_works(self, guarded: Served) -> None:
        assert post(guarded, "/reset", {}, Authorization=BEARER).status_code == 200
        assert handshake_status(guarded, Authorization=BEARER) == 101
        assert handshake_status(guarded, v2=True, Authorization=BEARER) == 101

    def test_a_client_with_it_plays_and_one_without_says_why_not(self, guarded: Served) -> None:
        with GenericEnvClient(guarded.base_url, token=TOKEN) as client:
            client.reset()
            assert client.step({"text": "hi"}).reward == 2
        with pytest.raises(UnauthorizedError):
            GenericEnvClient(guarded.base_url, token="wrong").reset()

    def test_a_browser_asks_its_person_and_remembers_for_the_sockets_of_the_page(self, guarded: Served) -> None:
        with httpx.Client(base_url=guarded.base_url, trust_env=False) as browser:
            asked = browser.get("/docs", headers={"Accept": "text/html,*/*;q=0.8"})
            assert asked.status_code == 401
            assert asked.headers["www-authenticate"].startswith("Basic")
            password = base64.b64encode(f"me:{TOKEN}".encode()).decode()
            shown = browser.get("/docs", headers={"Authorization": f"Basic {password}"})
            assert shown.status_code == 200
            cookie = shown.headers["set-cookie"]
            assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
            assert TOKEN not in cookie
            assert browser.get("/docs").status_code == 200
            assert handshake_status(guarded, Cookie=cookie.partition(";")[0]) == 101

    def test_a_session_is_not_resumed_by_another_who_has_its_secret_alone(self, guarded: Served) -> None:
        with socket_of(guarded, v2=True, headers={"Authorization": BEARER}) as first:
            first.recv()
            first.send('{"id":1,"type":"open","data":{}}')
            opened = first.recv()
            assert '"opened"' in opened
        assert handshake_status(guarded, v2=True) == 401


class TestOrigin:
    def test_a_foreign_page_is_refused_before_anything_is_built(self, open_server: Served) -> None:
        for v2 in (False, True):
            assert handshake_status(open_server, v2=v2, Origin="https://evil.test") == 403
        for path in POSTS:
            answer = post(open_server, path, {}, Origin="https://evil.test")
            assert (answer.status_code, answer.json()["code"]) == (403, "UNAUTHORIZED")
        assert Parrot.built == 0

    def test_its_own_page_and_a_listed_one_are_served(self, open_server: Served) -> None:
        for origin in (open_server.base_url, "https://lab.test"):
            assert handshake_status(open_server, Origin=origin) == 101
            assert post(open_server, "/reset", {}, Origin=origin).status_code == 200

    def test_a_listed_page_may_read_the_answer_and_another_may_not(self, open_server: Served) -> None:
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        url = f"{open_server.base_url}/reset"
        listed = httpx.options(url, headers={"Origin": "https://lab.test", **asked}, trust_env=False)
        assert listed.status_code == 200
        assert listed.headers["access-control-allow-origin"] == "https://lab.test"
        foreign = httpx.options(url, headers={"Origin": "https://evil.test", **asked}, trust_env=False)
        assert "access-control-allow-origin" not in foreign.headers


class TestHost:
    def test_another_name_is_refused_on_every_door(self, open_server: Served) -> None:
        assert get(open_server, "/health", Host="evil.test").status_code == 421
        assert post(open_server, "/reset", {}, Host="evil.test").status_code == 421
        assert raw_handshake(open_server, "evil.test").startswith(b"HTTP/1.1 421")
        assert Parrot.built == 0

    def test_loopback_names_are_answered(self, open_server: Served) -> None:
        for host in ("localhost", f"127.0.0.1:{open_server.port}", "[::1]"):
            assert get(open_server, "/health", Host=host).status_code == 200
            assert raw_handshake(open_server, host).startswith(b"HTTP/1.1 101")


def raw_handshake(served: Served, host: str) -> bytes:
    head = (
        f"GET /ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with raw_connection(served) as connection:
        connection.sendall(head.encode())
        return connection.recv(100)


class TestWithoutTheExtension:
    """A transport that cannot answer a handshake with a status of our choice."""

    def test_the_socket_is_closed_with_a_code_of_its_own(self) -> None:
        Parrot.built = 0
        app = create_app(Parrot, Say, Said, state_cls=State, settings=ServerSettings(token=TOKEN))
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "websocket", "path": "/ws", "headers": [], "query_string": b"", "app": app}
        asyncio.run(app(scope, receive, send))
        assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 4401)]
        assert Parrot.built == 0
