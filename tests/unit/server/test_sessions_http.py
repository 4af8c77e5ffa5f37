"""The list of sessions, over HTTP and at the command line."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from openenv_core.client import GenericEnvClient
from openenv_core.errors import SessionLostError
from tests.server.toys import Parrot, post, socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually

TOKEN = "tok-123456"


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Parrot, limits={"max_sessions": 5}) as running:
        yield running


def listed(served: Served, **headers: str) -> Any:
    answer = httpx.get(f"{served.base_url}/sessions", headers=headers, trust_env=False)
    assert answer.status_code == 200
    return answer.json()


def command(*arguments: str, token: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OPENENV_TOKEN": token, "COLUMNS": "200", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "openenv_core.cli", "sessions", *arguments]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_who_holds_the_slots(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client:
        client.reset(episode_id="first")
        client.step({"text": "bye"})
        post(served, "/reset")
        seen = listed(served)
    assert (seen["active"], seen["max"], seen["queued"]) == (2, 5, 0)
    by_door = {row["door"]: row for row in seen["sessions"]}
    row = by_door["ws.v2"]
    assert (row["state"], row["backend"], row["caller"]) == ("attached", "inline", "127.0.0.1")
    assert (row["episode"], row["episode_id"], row["steps"], row["steps_in_all"]) == ("over", "first", 1, 1)
    assert row["age_s"] >= row["idle_s"] >= 0
    assert by_door["http"]["episode"] == "running"


def test_no_secret_of_a_session_is_listed(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client:
        client.reset()
        told = json.dumps(listed(served))
        tokens = [session.token for session in served.gateway.manager.sessions.values()]
    assert tokens
    assert not any(token in told for token in tokens)


def test_a_session_is_ended_and_its_client_is_told(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client, socket_of(served) as v1:
        client.reset()
        eventually(lambda: served.active == 2)
        for row in listed(served)["sessions"]:
            ended = httpx.delete(f"{served.base_url}/sessions/{row['id']}", trust_env=False)
            assert ended.json() == {"id": row["id"], "closed": True}
        with pytest.raises(SessionLostError) as lost:
            client.step({"text": "x"})
        assert lost.value.reason == "closed"
        assert json.loads(v1.recv(timeout=LIMIT_S))["data"]["reason"] == "closed"
        with pytest.raises(ConnectionClosed) as closed:
            v1.recv(timeout=LIMIT_S)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.reason == "closed"
        assert client.reset().observation["text"] == "ready"


def test_a_session_that_is_gone_tells_its_reason(served: Served) -> None:
    answer = httpx.delete(f"{served.base_url}/sessions/unknown", trust_env=False)
    assert (answer.status_code, answer.json()["details"]["reason"]) == (410, "server_restarted")


def test_without_a_token_only_the_own_machine_may_look() -> None:
    limits = {"trusted_proxies": ("127.0.0.1",)}
    with serving(Parrot, limits=limits) as served:
        far = {"X-Forwarded-For": "192.0.2.9"}
        for method, path in (("GET", "/sessions"), ("DELETE", "/sessions/x")):
            answer = httpx.request(method, served.base_url + path, headers=far, trust_env=False)
            assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")
        assert listed(served)["sessions"] == []


def test_with_a_token_whoever_has_it_may_look() -> None:
    with serving(Parrot, limits={"token": TOKEN}) as served:
        assert httpx.get(f"{served.base_url}/sessions", trust_env=False).status_code == 401
        assert listed(served, Authorization=f"Bearer {TOKEN}")["active"] == 0


class TestCommand:
    def test_a_table_for_people_and_json_for_programs(self, served: Served) -> None:
        with GenericEnvClient(served.base_url) as client:
            client.reset(episode_id="first")
            shown = command(served.base_url.removeprefix("http://"))
            row = json.loads(command(served.base_url, "--json").stdout)["sessions"][0]
        assert "1 of 5 sessions" in shown.stdout
        assert row["id"] in shown.stdout
        assert "running first" in shown.stdout

    def test_an_end(self, served: Served) -> None:
        with GenericEnvClient(served.base_url) as client:
            client.reset()
            name = listed(served)["sessions"][0]["id"]
            done = command(served.base_url, "--close", name)
            assert (done.returncode, done.stdout.strip()) == (0, f"{name} closed")
            eventually(lambda: served.active == 0)

    def test_a_token_comes_from_the_variable(self) -> None:
        with serving(Parrot, limits={"token": TOKEN}) as served:
            refused = command(served.base_url)
            assert refused.returncode == 1
            assert "set OPENENV_TOKEN" in refused.stderr
            assert "Traceback" not in refused.stderr
            assert command(served.base_url, token=TOKEN).returncode == 0

    def test_nobody_there_is_one_line(self) -> None:
        refused = command("http://127.0.0.1:9")
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
