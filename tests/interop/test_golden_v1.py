"""Protocol version 1, byte for byte: what servers of the public package answered, a server of ours answers.

The golden file is a capture of real servers (``capture_v1``). The deliberate differences are a table of their own
(``v1_differences``).
"""

import json
import re
from typing import Any

import pytest
from pydantic.version import version_short

from benchmarks.processes import REPOSITORY

from .conftest import StartServer
from .player import Case, play_http, play_websocket
from .v1_differences import HTTP, WEBSOCKET, Difference

pytestmark = pytest.mark.timeout(120)

GOLDEN: dict[str, Any] = json.loads((REPOSITORY / "tests" / "data" / "v1" / "golden.json").read_text())

_SAME = Difference("")
_RECORDED = {"greeting", "replies", "close", "status", "content_type", "reply"}


def _names(kind: str) -> list[str]:
    return [case["name"] for case in GOLDEN[kind]]


def _case(kind: str, name: str) -> Case:
    return next(case for case in GOLDEN[kind] if case["name"] == name)


def _request(case: Case) -> Case:
    return {key: value for key, value in case.items() if key not in _RECORDED}


def _on_this_pydantic(record: Case) -> Case:
    """The record with the links into pydantic's documentation that the installed version makes."""
    text = json.dumps(record)
    captured = ".".join(GOLDEN["captured_with"]["pydantic"].split(".")[:2])
    for version in {captured, "2.14"}:
        text = text.replace(f"errors.pydantic.dev/{version}/", f"errors.pydantic.dev/{version_short()}/")
    found: Case = json.loads(text)
    return found


def _without_made_up(record: Case) -> Case:
    text = re.sub(r'(\\"error_id\\":\\")[0-9a-f]+', r"\g<1>…", json.dumps(record, ensure_ascii=False))
    found: Case = json.loads(text)
    return found


def test_the_table_of_differences_names_cases_that_exist() -> None:
    assert set(WEBSOCKET) <= set(_names("websocket"))
    assert set(HTTP) <= set(_names("http"))


@pytest.mark.parametrize("name", _names("websocket"))
def test_websocket(our_server: StartServer, name: str) -> None:
    golden = _case("websocket", name)
    played = play_websocket(our_server(golden["app"]).base_url, _request(golden))
    assert _without_made_up(played) == _on_this_pydantic(WEBSOCKET.get(name, _SAME).expected(golden))


_PLAIN_NAMES = [case["name"] for case in GOLDEN["http"] if case["path"] not in {"/reset", "/step", "/state", "/schema"}]


@pytest.mark.parametrize("name", _PLAIN_NAMES)
def test_http(our_server: StartServer, name: str) -> None:
    golden = _case("http", name)
    played = play_http(our_server(golden["app"]).base_url, _request(golden))
    assert _without_made_up(played) == _on_this_pydantic(HTTP.get(name, _SAME).expected(golden))


@pytest.fixture(scope="module")
def http_session(our_server: StartServer) -> str:
    """The one HTTP session of the control routes: with us these calls belong together, with the public package each
    of them has a world of its own."""
    reset = {"name": "", "app": "app", "method": "POST", "path": "/reset", "body": None}
    return str(json.loads(play_http(our_server("app").base_url, reset)["reply"])["session_id"])


# Without an environment there is no session to ask for its state.
_CONTROL_NAMES = [
    case["name"]
    for case in GOLDEN["http"]
    if case["path"] in {"/reset", "/step", "/state"} and case["name"] != "state of a broken factory"
]


@pytest.mark.parametrize("name", _CONTROL_NAMES)
def test_http_control(our_server: StartServer, http_session: str, name: str) -> None:
    golden = _case("http", name)
    url, headers = our_server(golden["app"]).base_url, {"X-OpenEnv-Session": http_session}
    if golden["path"] != "/reset":
        play_http(url, {**_request(golden), "method": "POST", "path": "/reset", "body": None}, headers)
    expected = _on_this_pydantic(HTTP.get(name, _SAME).expected(golden))
    played = _without_made_up(play_http(url, _request(golden), headers))
    # Ours may say more: the session that was opened, the code of an error. Numbers compare by value: a reward stays
    # the integer that it was, where the public package makes a fraction of it over HTTP and not over WebSocket.
    told, reply = json.loads(expected.pop("reply")), json.loads(played.pop("reply"))
    assert {key: reply[key] for key in told} == told
    assert set(reply) - set(told) <= {"session_id", "code", "message", "details"}
    assert played == expected


def test_http_state_without_a_session_is_refused(our_server: StartServer) -> None:
    request = _request(_case("http", "state of a broken factory"))
    played = play_http(our_server("broken_app").base_url, request)
    assert played["status"] == 409
    assert "call POST /reset first" in json.loads(played["reply"])["detail"]


def test_schema_has_all_that_the_public_package_tells(our_server: StartServer) -> None:
    golden = _case("http", "schema")
    played = play_http(our_server("app").base_url, _request(golden))
    told, ours = json.loads(golden["reply"]), json.loads(played["reply"])
    assert (played["status"], played["content_type"]) == (golden["status"], golden["content_type"])
    assert list(ours) == list(told)
    for model in told:
        # Descriptions are ours, and our observations have more fields; each of the public package's is there as it is.
        assert ours[model]["title"] == told[model]["title"]
        assert ours[model].get("required", []) == told[model].get("required", [])
        for field, schema in told[model]["properties"].items():
            assert {**schema, **ours[model]["properties"][field]} == ours[model]["properties"][field]
