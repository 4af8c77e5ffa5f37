"""Plain HTTP: sessions by header, cookie and body, and what is said where there is none or more than one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from openenv_core.errors import ValidationFailedError
from openenv_core.server.http import SESSION_COOKIE, SESSION_HEADER, error_response
from tests.support.awkward import Awkward
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.peers import V1Peer, V2Peer
from tests.support.serving import Served, serving
from tests.support.waiting import eventually

MODELS = (Act, Seen, WorldState)


@pytest.fixture
def served(journal: Journal) -> Iterator[Served]:
    with serving(Factory(journal, BlockingWorld), *MODELS, limits={"max_sessions": 3}) as found:
        yield found
        journal.open_all()


def client(served: Served) -> httpx.Client:
    """A caller that keeps no cookies unless it is told to."""
    return httpx.Client(base_url=served.base_url, trust_env=False, timeout=15.0)


@pytest.fixture
def caller(served: Served) -> Iterator[httpx.Client]:
    with client(served) as found:
        yield found


def reset(caller: httpx.Client, *, keep_cookie: bool = False, **options: Any) -> httpx.Response:
    response = caller.post("/reset", json=options)
    if not keep_cookie:
        caller.cookies.clear()
    return response


def step(caller: httpx.Client, **arguments: Any) -> httpx.Response:
    return caller.post("/step", json={"action": {}}, **arguments)


def test_a_reset_names_its_session_three_times(caller: httpx.Client, served: Served) -> None:
    response = reset(caller, keep_cookie=True, seed=3)
    assert response.status_code == 200
    name = response.headers[SESSION_HEADER]
    assert response.json()["session_id"] == response.cookies[SESSION_COOKIE] == name
    assert name in served.gateway.manager.sessions
    flags = response.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags


@pytest.mark.parametrize("way", ["header", "cookie", "body"])
def test_a_session_is_continued_by_each_of_them(caller: httpx.Client, way: str) -> None:
    names = [reset(caller).headers[SESSION_HEADER] for _ in range(2)]
    for count in range(1, 4):
        for name in names:
            if way == "body":
                state = caller.get("/state", params={"session_id": name})
                assert state.json()["step_count"] == count - 1
                response = caller.post("/step", json={"action": {}, "session_id": name})
            elif way == "header":
                response = step(caller, headers={SESSION_HEADER: name})
            else:
                response = step(caller, headers={"cookie": f"{SESSION_COOKIE}={name}"})
            assert response.json()["observation"]["steps"] == count
            assert response.headers[SESSION_HEADER] == name


def test_a_reset_may_name_the_session_that_it_is_meant_for(caller: httpx.Client, served: Served) -> None:
    name = reset(caller).headers[SESSION_HEADER]
    for again in (
        caller.post("/reset", json={"session_id": name}),
        caller.post("/reset", headers={SESSION_HEADER: name}),
    ):
        assert again.status_code == 200
        assert again.json()["session_id"] == name
    assert served.active == 1


def test_the_only_session_of_a_caller_needs_no_name(caller: httpx.Client) -> None:
    reset(caller, seed=3)
    assert step(caller).json()["observation"]["steps"] == 1
    assert caller.get("/state").json()["step_count"] == 1


def test_without_a_session_it_is_said_what_to_send(caller: httpx.Client, served: Served) -> None:
    for response in (step(caller), caller.get("/state")):
        assert response.status_code == 409
        body = response.json()
        assert "call POST /reset first" in body["detail"]
        assert SESSION_HEADER in body["detail"]
        assert SESSION_COOKIE in body["detail"]
        assert body["code"]
    assert served.active == 0


def test_with_several_sessions_it_is_said_what_to_send(caller: httpx.Client, journal: Journal) -> None:
    reset(caller), reset(caller)
    for response in (step(caller), caller.get("/state")):
        assert response.status_code == 409
        assert "2 HTTP sessions belong to this caller" in response.json()["detail"]
        assert SESSION_HEADER in response.json()["detail"]
    assert "step" not in journal.events()


def test_a_name_that_is_gone_is_gone_for_a_step_and_no_hindrance_for_a_reset(caller: httpx.Client) -> None:
    gone = {SESSION_HEADER: "0" * 32}
    for response in (step(caller, headers=gone), caller.get("/state", headers=gone)):
        assert response.status_code == 410
        assert response.json()["details"] == {"reason": "server_restarted"}
    assert caller.post("/reset", headers=gone).status_code == 200


def test_a_session_of_another_door_is_not_to_be_had_here(caller: httpx.Client, served: Served) -> None:
    with V2Peer(served.ws_url) as peer:
        session, _ = peer.open()
        peer.value("reset", session)
        response = step(caller, headers={SESSION_HEADER: session})
        assert response.status_code == 400
        assert "does not belong to plain HTTP" in response.json()["detail"]
        assert peer.value("step", session, data={})["data"]["steps"] == 1


def test_a_session_whose_episode_is_over_makes_room_for_the_next(caller: httpx.Client, served: Served) -> None:
    names = set()
    for _ in range(5):
        names.add(reset(caller).headers[SESSION_HEADER])
        assert caller.post("/step", json={"action": {"ends": True}}).json()["done"] is True
    assert len(names) == 5
    assert served.active == 1
    assert served.gateway.manager.ended == {"closed": 4}


def test_a_running_episode_is_nobody_s_to_end(caller: httpx.Client, served: Served) -> None:
    first = reset(caller).headers[SESSION_HEADER]
    reset(caller)
    assert served.active == 2
    assert step(caller, headers={SESSION_HEADER: first}).json()["observation"]["steps"] == 1


def test_http_sessions_count(caller: httpx.Client, served: Served) -> None:
    for _ in range(3):
        reset(caller)
    refused = reset(caller)
    assert refused.status_code == 503
    assert refused.json()["code"] == "CAPACITY_REACHED"
    assert refused.json()["details"] == {"active_sessions": 3, "max_sessions": 3}
    assert int(refused.headers["retry-after"]) >= 1
    with V1Peer(served.ws_url) as peer:
        assert peer.receive()["data"]["code"] == "CAPACITY_REACHED"


def test_the_sessions_of_sockets_count_here_too(served: Served, journal: Journal) -> None:
    peers = [V1Peer(served.ws_url) for _ in range(3)]
    for peer in peers:
        peer.reset()
    built = journal.count("init")
    with client(served) as caller, ThreadPoolExecutor(16) as pool:
        statuses = set(pool.map(lambda _: caller.post("/reset").status_code, range(50)))
    assert statuses == {503}
    assert journal.count("init") == built
    for peer in peers:
        peer.socket.close()


def test_a_reset_that_fails_leaves_no_session_behind(served: Served, caller: httpx.Client) -> None:
    for _ in range(5):
        response = reset(caller, sede=1)
        assert response.status_code == 422
        assert response.json()["code"] == "UNKNOWN_RESET_OPTION"
    eventually(lambda: served.active == 0)
    name = reset(caller).headers[SESSION_HEADER]
    again = caller.post("/reset", json={"sede": 1}, headers={SESSION_HEADER: name})
    assert again.status_code == 422
    assert step(caller, headers={SESSION_HEADER: name}).json()["observation"]["steps"] == 1


def test_an_unused_session_is_reaped(journal: Journal) -> None:
    limits = {"http_idle_timeout_s": 0.1, "max_sessions": 1}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, client(served) as caller:
        name = reset(caller).headers[SESSION_HEADER]
        eventually(lambda: served.active == 0)
        lost = step(caller, headers={SESSION_HEADER: name})
        assert lost.status_code == 410
        assert lost.json()["details"] == {"reason": "idle_timeout"}
        assert step(caller).status_code == 409
        assert reset(caller).status_code == 200


def test_a_state_is_a_use(journal: Journal) -> None:
    limits = {"http_idle_timeout_s": 0.4, "max_sessions": 1}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, client(served) as caller:
        reset(caller)
        for _ in range(100):
            assert caller.get("/state").status_code == 200
        (session,) = served.gateway.manager.sessions.values()
        assert session.lease.idle_s(served.gateway.manager.clock()) < 0.4


def test_a_call_past_its_own_limit_costs_the_session(caller: httpx.Client, served: Served, journal: Journal) -> None:
    reset(caller)
    response = caller.post("/step", json={"action": {"gate": "never"}, "timeout_s": 0.1})
    assert response.status_code == 410
    assert response.json()["details"] == {"reason": "step_deadline"}
    eventually(lambda: served.active == 0)


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/reset", {"seed": -1}, ["body", "seed"]),
        ("/reset", {"seed": "x"}, ["body", "seed"]),
        ("/reset", {"episode_id": "x" * 256}, ["body", "episode_id"]),
        ("/step", {}, ["body", "action"]),
        ("/step", {"action": 5}, ["body", "action"]),
        ("/step", {"action": {}, "timeout_s": 0}, ["body", "timeout_s"]),
        ("/step", None, ["body"]),
    ],
)
def test_a_body_that_does_not_fit_is_described_as_fastapi_does(
    caller: httpx.Client, path: str, body: Any, where: list[str]
) -> None:
    reset(caller)
    response = caller.post(path, json=body) if body is not None else caller.post(path)
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [where]


def test_an_action_that_does_not_fit_is_described_field_by_field(caller: httpx.Client) -> None:
    reset(caller)
    response = caller.post("/step", json={"action": {"reward": "much", "colour": 1}})
    assert response.status_code == 422
    body = response.json()
    assert body["code"] == "VALIDATION_ERROR"
    assert {problem["loc"][-1] for problem in body["detail"]} == {"reward", "colour"}


@pytest.mark.parametrize("text", ['{"seed": NaN}', '{"seed": 1e999}', '{"seed": "\\ud800"}', '{"episode_id": [1e999]}'])
def test_odd_numbers_and_characters_are_refused_in_strict_json(caller: httpx.Client, text: str) -> None:
    response = caller.post("/reset", content=text, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["detail"]


def test_the_reply_has_the_public_package_s_keys(caller: httpx.Client) -> None:
    assert set(reset(caller).json()) >= {"observation", "reward", "done", "metadata"}
    assert set(step(caller).json()) >= {"observation", "reward", "done", "metadata"}


def test_what_the_server_is(caller: httpx.Client) -> None:
    assert caller.get("/health").json() == {"status": "healthy"}
    assert set(caller.get("/schema").json()) >= {"action", "observation", "state"}
    assert caller.get("/metadata").json()["version"] == "7"


def test_a_production_server_has_no_control_routes() -> None:
    with serving(Awkward, mode="production") as served, client(served) as caller:
        assert {caller.post("/reset").status_code, step(caller).status_code, caller.get("/state").status_code} == {404}
        assert caller.get("/health").status_code == 200


def test_an_error_of_validation_without_a_list_still_has_a_detail() -> None:
    assert b'"detail":"no"' in bytes(error_response(ValidationFailedError("no")).body)
