import ssl
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from openenv_core.client import EnvClient, GenericEnvClient
from openenv_core.client._base import connection_error, connector_arguments, is_loopback, websocket_url
from openenv_core.errors import ConnectionFailedError, UnauthorizedError, ValidationFailedError
from openenv_core.settings import ClientSettings
from tests.support.clients import World
from tests.support.journal import Act

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://localhost:8000", "ws://localhost:8000/ws"),
        ("https://example.org", "wss://example.org/ws"),
        ("ws://localhost:8000", "ws://localhost:8000/ws"),
        ("wss://example.org/", "wss://example.org/ws"),
        ("HTTP://Example.org", "ws://Example.org/ws"),
        ("localhost:8000", "ws://localhost:8000/ws"),
        ("127.0.0.1:8000", "ws://127.0.0.1:8000/ws"),
        ("example.org", "ws://example.org/ws"),
        (" http://localhost:8000/ ", "ws://localhost:8000/ws"),
        ("http://localhost:8000//", "ws://localhost:8000/ws"),
        ("http://localhost:8000/ws", "ws://localhost:8000/ws"),
        ("http://localhost:8000/ws/", "ws://localhost:8000/ws"),
        ("https://example.org/env/one", "wss://example.org/env/one/ws"),
        ("https://example.org/env/?key=a%20b", "wss://example.org/env/ws?key=a%20b"),
        ("http://[::1]:8000", "ws://[::1]:8000/ws"),
        ("http://user:secret@host:1", "ws://user:secret@host:1/ws"),
    ],
)
def test_every_form_of_an_address(given: str, used: str) -> None:
    assert websocket_url(given) == used


@pytest.mark.parametrize("given", ["", "  ", "ftp://host", "http://", "http:///path", "file:///etc/passwd", "://host"])
def test_what_is_no_address_is_refused_by_name(given: str) -> None:
    with pytest.raises(ValueError, match="base_url is"):
        EnvClient[Any, Any, Any](given)


@pytest.mark.parametrize("given", [5, b"http://host", ["http://host"]])
def test_what_is_no_text_is_refused_by_name(given: Any) -> None:
    with pytest.raises(ValueError, match="it must be a text"):
        EnvClient[Any, Any, Any](base_url=given)


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("ws://localhost/ws", True),
        ("ws://a.localhost/ws", True),
        ("ws://127.0.0.1:1/ws", True),
        ("ws://127.9.9.9/ws", True),
        ("ws://[::1]/ws", True),
        ("ws://10.0.0.1/ws", False),
        ("ws://localhost.example.org/ws", False),
        ("ws://example.org/ws", False),
    ],
)
def test_no_proxy_belongs_between_two_processes_of_one_machine(url: str, near: bool) -> None:
    assert is_loopback(url) is near
    assert connector_arguments(url, ClientSettings())["proxy"] is (None if near else True)


def test_the_connector_is_told_what_the_client_was_told() -> None:
    settings = ClientSettings(connect_timeout_s=3.0, max_message_size_mb=0.5, headers={"X-One": "1"})
    arguments = connector_arguments("ws://127.0.0.1/ws", settings)
    assert (arguments["open_timeout"], arguments["max_size"]) == (3.0, 2**19)
    assert arguments["additional_headers"] == {"X-One": "1"}
    assert arguments["subprotocols"] == ["openenv.v2"]


def test_a_token_is_a_header_beside_the_others() -> None:
    client = World(URL, headers={"X-One": "1"}, token="secret")
    assert client._settings.headers == {"X-One": "1", "Authorization": "Bearer secret"}
    assert "Authorization" not in World(URL)._settings.headers


@pytest.mark.parametrize(
    ("error", "cls", "says"),
    [
        (InvalidStatus(Response(401, "Unauthorized", Headers())), UnauthorizedError, "answered 401"),
        (InvalidStatus(Response(403, "Forbidden", Headers())), UnauthorizedError, "Is the token right"),
        (InvalidStatus(Response(404, "Not Found", Headers())), ConnectionFailedError, "answered 404"),
        (InvalidStatus(Response(503, "Busy", Headers())), ConnectionFailedError, "answered 503"),
        (TimeoutError(), ConnectionFailedError, "connect_timeout_s"),
        (ConnectionRefusedError("refused"), ConnectionFailedError, "Does the server run"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), ConnectionFailedError, "is it http"),
        (OSError("no route"), ConnectionFailedError, "no route"),
    ],
)
def test_a_failed_connection_says_why(error: Exception, cls: type[Exception], says: str) -> None:
    told = connection_error("ws://host/ws", error)
    assert type(told) is cls
    assert says in told.message
    assert "ws://host/ws" in told.message


def test_an_address_or_somebody_who_knows_one_must_be_given() -> None:
    with pytest.raises(ValueError, match="give base_url"):
        EnvClient[Any, Any, Any]()


def test_the_public_package_s_mode_is_accepted_and_checked() -> None:
    assert World(URL, mode="Simulation").base_url == URL
    with pytest.raises(ValueError, match="mode is 'fast'"):
        World(URL, mode="fast")


def test_an_action_is_checked_before_anything_is_sent() -> None:
    client = World(URL)
    assert client._typed_action({"ends": True}) == Act(ends=True)
    given = Act(ends=True)
    assert client._typed_action(given) is given
    with pytest.raises(ValidationFailedError, match="the action, field 'reward'"):
        client._typed_action({"reward": "much"})
    with pytest.raises(ValidationFailedError):
        client._typed_action(5)


@pytest.mark.parametrize("action", [{"message": "hi"}, SimpleNamespace(message="hi")])
def test_without_models_an_action_is_anything_with_fields(action: Any) -> None:
    assert GenericEnvClient(URL)._typed_action(action) == {"message": "hi"}


@pytest.mark.parametrize("action", ["hi", 5, None, ["hi"], object()])
def test_without_models_what_has_no_fields_is_refused(action: Any) -> None:
    with pytest.raises(ValidationFailedError, match="the action"):
        GenericEnvClient(URL)._typed_action(action)


class Provider:
    """Starts nothing, and says what it was asked to do."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.asked: list[str] = []

    def start_container(self) -> str:
        self.asked.append("start")
        return self.base_url

    def wait_for_ready(self, base_url: str) -> None:
        assert base_url == self.base_url
        self.asked.append("wait")

    def stop_container(self) -> None:
        self.asked.append("stop")


def test_a_provider_starts_the_server_when_it_is_needed_and_stops_it_at_the_end() -> None:
    provider = Provider(URL)
    client = World(provider=provider)
    assert not client.base_url
    assert provider.asked == []
    with pytest.raises(ConnectionFailedError):
        client.reset()
    assert client.base_url == URL
    client.close()
    client.close()
    assert provider.asked == ["start", "wait", "stop"]


def test_a_server_that_was_there_already_is_not_this_client_s_to_stop() -> None:
    provider = Provider(URL)
    World(URL, provider=provider).close()
    assert provider.asked == []
