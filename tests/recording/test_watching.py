"""Operators watch a server while it is played on."""

import base64
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from openenv_core.client import GenericEnvClient
from openenv_core.errors import EnvironmentFailedError, LossReason
from openenv_core.server.watch import hub as hub_module
from openenv_core.server.watch.followers import Follower, Seen
from openenv_core.server.watch.hub import Hub
from tests.recording.test_format import step
from tests.recording.worlds import SECRET, Painter, png
from tests.support.doors import DOORS
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually

Event = tuple[str, Any]


@contextlib.contextmanager
def watched(**limits: Any) -> Iterator[tuple[Served, httpx.Client]]:
    """A server with its page on, and somebody who looks."""
    with (
        serving(Painter, limits={"web_interface": True, **limits}) as served,
        httpx.Client(base_url=f"{served.base_url}/web/api", trust_env=False, timeout=LIMIT_S) as page,
    ):
        yield served, page


@contextlib.contextmanager
def following(page: httpx.Client, session: str, **options: Any) -> Iterator[Iterator[Event]]:
    """The events of a session, one after the other."""
    with page.stream("GET", f"/sessions/{session}/events", params=options) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield _events(stream.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[Event]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def only(page: httpx.Client) -> dict[str, Any]:
    """The row of the only session."""
    [row] = page.get("/sessions").raise_for_status().json()["sessions"]
    assert isinstance(row, dict)
    return row


def observers(served: Served) -> list[Any]:
    """Who is attached to the sessions."""
    return [session.observer for session in served.gateway.manager.sessions.values()]


def test_the_list_shows_what_each_client_saw_last_and_nobody_is_attached_for_that() -> None:
    with watched() as (served, page), GenericEnvClient(served.base_url) as client:
        client.reset(seed=9, title="\x1b[2Jfirst")
        assert observers(served) == [None]
        row = only(page)
        assert (row["steps"], row["reward"], row["episode"], row["recorded"]) == (0, 0.0, "running", False)
        assert row["text"] == "caption: \\x1b[2Jfirst"
        client.step({"shade": 3})
        row = only(page)
        assert (row["steps"], row["reward"], row["text"]) == (1, 0.25, "caption: square 1")
        picture = page.get(f"/{row['picture']}")
        assert (picture.headers["content-type"], picture.content) == ("image/png", png(3))
        again = page.get(f"/{row['picture']}", headers={"If-None-Match": picture.headers["etag"]})
        assert again.status_code == 304
        assert observers(served) == [None]
        assert SECRET not in page.get("/sessions").text


@pytest.mark.parametrize("door", ["v1", "http"])
def test_sessions_that_remember_no_reply_are_glanced_at_when_somebody_looks(
    door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "INTERVAL_S", 0.05)
    with watched() as (served, page), DOORS[door](served) as player:
        player.reset()
        player.step({"shade": 1})
        assert observers(served) == [None]
        assert only(page)["text"] is None
        assert observers(served) != [None]
        player.step({"shade": 5})
        assert observers(served) == [None]
        player.step({"shade": 6})
        row = only(page)
        assert row["text"] == "caption: square 2"
        assert page.get(f"/{row['picture']}").content == png(5)
        hub = hub_of(served)
        hub._looked_at = float("-inf")
        eventually(lambda: not hub.looking)
        assert observers(served) == [None]


def hub_of(served: Served) -> Hub:
    """The hub of a server."""
    told = served.gateway.on_opened
    hub = getattr(told, "__self__", None)
    assert isinstance(hub, Hub)
    return hub


@pytest.mark.parametrize("door", DOORS)
def test_a_session_is_followed_frame_by_frame(door: str) -> None:
    with watched() as (served, page), DOORS[door](served) as player:
        player.reset(seed=4)
        session = only(page)["id"]
        with following(page, session, view=True) as events:
            name, snapshot = next(events)
            assert name == "snapshot"
            assert snapshot["session"]["id"] == session
            if door == "v2":
                assert snapshot["frame"]["observation"]["caption"] == "begin"
                assert snapshot["frame"]["view"]
            assert len(observers(served)) == 1
            assert observers(served) != [None]
            told = player.step({"shade": 8})
            _, frame = next(events)
            assert (frame["kind"], frame["steps"], frame["total_reward"], frame["dropped"]) == ("step", 1, 0.25, 0)
            assert frame["action"]["shade"] == 8
            assert frame["observation"]["frame"] == base64.b64encode(png(8)).decode()
            assert frame["observation"]["caption"] == told["caption"]
            assert frame["view"][0]["text"] == "square 1"
            assert SECRET not in json.dumps(frame)
            player.state()
            assert next(events)[1]["state"]["title"] == "squares"
            with contextlib.suppress(Exception):
                player.step({"shade": 1, "do": "fail"})
            _, frame = next(events)
            assert (frame["kind"], frame["call"]) == ("error", "step")
            assert frame["error"] == {"code": "EXECUTION_ERROR", "message": "it went wrong"}
            player.reset(seed=5, title="next")
            _, frame = next(events)
            assert (frame["kind"], frame["steps"], frame["options"]["seed"]) == ("reset", 0, 5)
            served.end_sessions()
            assert next(events) == ("ended", {"reason": "closed", "message": _CLOSED})
            assert list(events) == []


_CLOSED = "the session has been closed; call reset to start a new one"


def test_when_the_watcher_goes_nobody_is_attached_any_more() -> None:
    with watched() as (served, page), GenericEnvClient(served.base_url) as client:
        client.reset()
        with following(page, only(page)["id"]) as events:
            next(events)
            assert observers(served) != [None]
        eventually(lambda: observers(served) == [None])
        client.step({"shade": 1})


def test_a_watcher_who_reads_nothing_costs_the_session_nothing_and_misses_frames() -> None:
    with watched() as (served, page), GenericEnvClient(served.base_url) as client:
        client.reset()
        with following(page, only(page)["id"]) as events:
            next(events)
            for _ in range(3000):
                client.step({"shade": 1, "do": "waste"})
            client.step({"shade": 1, "do": "finish"})
            frames = []
            for _, frame in events:
                frames.append(frame)
                if frame["done"]:
                    break
        assert sum(frame["dropped"] + 1 for frame in frames) == 3001
        assert len(frames) < 3001
        assert frames[-1]["steps"] == 3001


@pytest.mark.anyio
async def test_the_oldest_frames_are_missed_and_counted_in_their_place() -> None:
    follower = Follower()
    for number in range(40):
        follower.put(Seen(step(number), number, 0.0))
    missed, frames = await follower.next(1)
    assert missed == 8
    assert [seen.steps for seen in frames] == list(range(8, 40))
    assert await follower.next(0.01) == (0, [])
    follower.end(LossReason.CLOSED)
    assert await follower.next(60) == (0, [])
    assert follower.ended == "closed"


def test_figures_are_taken_while_somebody_looks_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "INTERVAL_S", 0.1)
    with watched() as (served, page), GenericEnvClient(served.base_url) as client:

        def samples(**query: Any) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = page.get("/totals", params=query).json()["samples"]
            return found

        hub = hub_of(served)
        client.reset()
        client.step({"shade": 1})
        assert not hub.looking
        assert hub.totals.started is None
        first = page.get("/totals").json()
        assert (first["samples"], first["steps"], first["recording"]) == ([], 1, None)
        client.step({"shade": 1, "do": "finish"})
        client.reset()
        with contextlib.suppress(EnvironmentFailedError):
            client.step({"shade": 1, "do": "fail"})
        eventually(lambda: any(sample["errors"] for sample in samples()))
        taken = samples()
        busy = [sample for sample in taken if sample["steps_per_s"]]
        assert busy
        assert all(0 < sample["step_p50_s"] <= sample["step_p99_s"] for sample in busy)
        assert [sample["errors"] for sample in taken if sample["errors"]] == [{"EXECUTION_ERROR": 1}]
        assert [sample["reward_mean"] for sample in taken if sample["reward_mean"] is not None] == [1.25]
        assert {sample["active"] for sample in taken} == {1}
        assert all(sample["at"] > taken[0]["at"] for sample in samples(since=taken[0]["at"]))
        hub._looked_at = float("-inf")
        eventually(lambda: not hub.looking)
        assert samples()[0] == taken[0]


def test_recordings_are_listed_chosen_read_and_shown(tmp_path: Path) -> None:
    with watched(record=str(tmp_path)) as (served, page), GenericEnvClient(served.base_url) as client:
        for seed, last in enumerate(("paint", "finish")):
            client.reset(seed=seed)
            client.step({"shade": 1, "do": last})
        assert only(page)["recorded"]
        eventually(lambda: page.get("/recordings").json()["total"] == 2)
        eventually(lambda: page.get("/recordings").json()["episodes"][0]["end"])
        listed = page.get("/recordings").json()
        assert listed["folder"] == str(tmp_path)
        newest, oldest = listed["episodes"]
        assert (newest["seed"], newest["reward"], newest["success"], newest["end"]) == (1, 1.0, True, "terminated")
        assert (oldest["seed"], oldest["end"]) == (0, "reset")
        for query, expected in (
            ({"min_reward": 0.5}, [1]),
            ({"max_reward": 0.5}, [0]),
            ({"success": True}, [1]),
            ({"environment": "other"}, []),
            ({"limit": 1, "offset": 1}, [0]),
        ):
            chosen = page.get("/recordings", params=query).json()["episodes"]
            assert [row["seed"] for row in chosen] == expected
        body = page.get(f"/recordings/{newest['name']}", params={"view": True}).json()
        assert [frame["kind"] for frame in body["frames"]] == ["reset", "step"]
        last = body["frames"][1]
        assert (last["step"], last["total_reward"], last["done"], last["view"][0]["text"]) == (1, 1.0, True, "square 1")
        picture = last["observation"]["frame"]["$picture"]
        assert page.get(f"/recordings/{newest['name']}/pictures/{picture}").content == png(1)
        part = page.get(f"/recordings/{newest['name']}", params={"first": 1, "count": 1}).json()
        assert (part["total"], [frame["index"] for frame in part["frames"]]) == (2, [1])
        assert page.get("/totals").json()["recording"]["frames"] >= 5


@pytest.mark.parametrize(
    "path",
    [
        "/recordings/20260101T000000000000-toy-0123456789ab-1",
        "/recordings/..%2F..%2Fetc%2Fpasswd",
        "/recordings/passwd",
        "/recordings/20260101T000000000000-toy-0123456789ab-1/pictures/..%2Fx.png",
    ],
)
def test_what_is_not_there_is_404_and_nothing_else_is_ever_read(tmp_path: Path, path: str) -> None:
    with watched(record=str(tmp_path)) as (_, page):
        assert page.get(path).status_code == 404


def test_an_unknown_session_is_gone() -> None:
    with watched() as (_, page):
        for path in ("picture", "events"):
            answer = page.get(f"/sessions/{'0' * 32}/{path}")
            assert (answer.status_code, answer.json()["code"]) == (410, "SESSION_LOST")
        assert page.get("/sessions", params={"limit": 0}).status_code == 422


def test_the_routes_are_the_operators_and_only_where_the_page_is_on() -> None:
    paths = ("sessions", "totals", "recordings", f"sessions/{'0' * 32}/events")
    with serving(Painter) as served:
        for path in paths:
            assert httpx.get(f"{served.base_url}/web/api/{path}", trust_env=False).status_code == 404
    with watched(token="canary-1") as (served, page):
        for path in paths:
            assert page.get(f"/{path}").status_code == 401
        told = page.get("/sessions", headers={"Authorization": "Bearer canary-1"})
        assert told.status_code == 200
        assert "canary-1" not in told.text
    with watched(trusted_proxies=("127.0.0.1",)) as (_, page):
        from_afar = {"X-Forwarded-For": "203.0.113.9"}
        for path in paths:
            assert page.get(f"/{path}", headers=from_afar).status_code == 401


def test_a_server_that_stops_ends_its_streams() -> None:
    with watched() as (served, page), GenericEnvClient(served.base_url) as client:
        client.reset()
        with following(page, only(page)["id"]) as events:
            next(events)
            served.server.should_exit = True
            assert [(name, told["reason"]) for name, told in events] == [("ended", "shutdown")]


def test_a_server_without_page_and_recording_loads_nothing_of_it() -> None:
    code = (
        "import sys\nfrom openenv_core.server import create_app\n"
        "from tests.recording.worlds import Move, Painter, Seen\n"
        "create_app(Painter, Move, Seen); print(sorted(m for m in sys.modules if 'watch' in m or 'recording.re' in m))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert [name for name in json.loads(done.stdout.replace("'", '"')) if name.startswith("openenv_core")] == []
