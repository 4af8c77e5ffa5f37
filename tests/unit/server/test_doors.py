"""The doors around a live server: what is too large, too slow, too deep, of the wrong kind, or fails unforeseen."""

import itertools
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.toys import Parrot, cut_off, post, raw_connection
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S

LIMIT = 10_000


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    limits = {"max_body_bytes": LIMIT, "request_timeout_s": 0.4, "max_header_bytes": 4000, "max_nesting": 20}
    with serving(Parrot, limits=limits) as running:
        yield running


def request_of(body: bytes, *headers: str, path: str = "/reset") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def answer_to(served: Served, request: bytes) -> bytes:
    """The whole answer to raw bytes, up to the end of the connection or the first pause."""
    with raw_connection(served) as connection:
        connection.sendall(request)
        return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    connection.settimeout(LIMIT_S)
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def test_a_body_up_to_the_limit_is_read(served: Served) -> None:
    body = {"episode_id": "x" * 200, "seed": 3}
    padded = json.dumps(body) + " " * (LIMIT - len(json.dumps(body)))
    answer = httpx.post(
        f"{served.base_url}/reset", content=padded, headers={"content-type": "application/json"}, trust_env=False
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("declared", [True, False])
def test_one_byte_more_is_refused_whether_announced_or_not(served: Served, declared: bool) -> None:
    def stream() -> Iterator[bytes]:
        for _ in range(LIMIT // 100):
            yield b" " * 100
        yield b" "

    content: Any = b" " * (LIMIT + 1) if declared else stream()
    answer = httpx.post(
        f"{served.base_url}/reset", content=content, headers={"content-type": "application/json"}, trust_env=False
    )
    assert answer.status_code == 413
    assert answer.json()["code"] == "MESSAGE_TOO_LARGE"
    assert answer.json()["details"]["limit"] == LIMIT


def test_a_stream_without_an_end_is_cut_off(served: Served) -> None:
    with raw_connection(served) as connection:
        connection.sendall(request_of(b"", "Transfer-Encoding: chunked"))
        chunk = b"ffff\r\n" + b" " * 0xFFFF + b"\r\n"
        assert cut_off(connection, itertools.repeat(chunk, 10_000))


def test_a_body_that_drips_is_given_up(served: Served) -> None:
    with raw_connection(served) as connection:
        connection.sendall(request_of(b"{", "Content-Length: 100"))
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive within 0.4 s" in answer


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing_behind(served: Served) -> None:
    with raw_connection(served) as connection:
        connection.sendall(request_of(b"{", "Content-Length: 100"))
    assert httpx.get(f"{served.base_url}/health", trust_env=False).status_code == 200


@pytest.mark.parametrize("depth", [21, 100_000])
def test_deep_json_is_refused(served: Served, depth: int) -> None:
    body = b"[" * min(depth, LIMIT // 2) + b"]" * min(depth, LIMIT // 2)
    answer = httpx.post(
        f"{served.base_url}/step", content=body, headers={"content-type": "application/json"}, trust_env=False
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_JSON")


def test_what_a_form_can_send_is_refused_and_nothing_is_built(served: Served) -> None:
    Parrot.built = 0
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = httpx.post(f"{served.base_url}/reset", content=b"{}", headers={"content-type": kind}, trust_env=False)
        assert answer.status_code == 415
        assert "application/json" in answer.json()["message"]
    assert Parrot.built == 0


def test_an_empty_body_needs_no_kind(served: Served) -> None:
    assert httpx.post(f"{served.base_url}/reset", trust_env=False).status_code == 200


def test_a_long_head_is_refused(served: Served) -> None:
    answer = httpx.get(f"{served.base_url}/schema", headers={"x": "y" * 5000}, trust_env=False)
    assert answer.status_code == 431


def test_a_failure_that_nobody_foresaw_is_named_by_an_id_that_the_log_explains(
    served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Any:
        raise ZeroDivisionError("a secret of the house")

    monkeypatch.setattr(served.gateway, "schema", broken)
    answer = httpx.get(f"{served.base_url}/schema", trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (500, "EXECUTION_ERROR")
    assert "secret" not in answer.text
    error_id = answer.json()["details"]["error_id"]
    entries = [record for record in caplog.records if error_id in record.getMessage()]
    assert [type(entry.exc_info[1]) for entry in entries if entry.exc_info] == [ZeroDivisionError]


def test_an_environment_s_error_is_found_in_the_log_by_the_id_in_the_reply(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    answer = post(served, "/reset", {"fail": "the reactor leaks"})
    assert answer.status_code == 500
    assert answer.json()["message"] == "the reactor leaks"
    error_id = answer.json()["details"]["error_id"]
    assert [r.__dict__["error_id"] for r in caplog.records if error_id in r.getMessage()] == [error_id]


def test_others_are_served_while_some_are_slow(served: Served) -> None:
    with raw_connection(served) as slow, raw_connection(served) as silent:
        slow.sendall(request_of(b"{", "Content-Length: 100"))
        assert httpx.get(f"{served.base_url}/health", trust_env=False).status_code == 200
        silent.close()
