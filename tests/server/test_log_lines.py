"""What the log says of a session's life: what nobody asked for at once, the rest for who wants to know."""

import logging

import httpx
import pytest

from openenv_core.client import GenericEnvClient
from tests.support.serving import serving
from tests.support.waiting import eventually

from .toys import Parrot, post


def test_a_session_that_is_lost_leaves_a_line_with_its_names(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving(Parrot, limits={"http_idle_timeout_s": 0.2}) as served:
        name = post(served, "/reset", {"episode_id": "e1"}).json()["session_id"]
        eventually(lambda: served.active == 0)
    (line,) = [record for record in caplog.records if "ends" in record.getMessage()]
    assert line.getMessage() == f"session {name} ends: idle_timeout"
    assert (line.__dict__["session"], line.__dict__["episode"]) == (name, "e1")


def test_an_orderly_life_is_told_to_who_wants_to_know(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="openenv_core")
    with serving(Parrot) as served, GenericEnvClient(served.base_url) as client:
        client.reset(episode_id="e1")
        (name,) = served.gateway.manager.sessions
        client.close()
        eventually(lambda: served.active == 0)
    told = [record for record in caplog.records if name in record.getMessage()]
    assert [(record.levelname, record.getMessage()) for record in told] == [
        ("DEBUG", f"session {name} of 127.0.0.1 opens by ws.v2"),
        ("DEBUG", f"session {name} ends: closed"),
    ]
    assert told[0].__dict__["caller"] == "127.0.0.1"


def test_a_health_check_leaves_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving(Parrot) as served:
        httpx.get(f"{served.base_url}/health", trust_env=False)
    assert [record for record in caplog.records if record.name.startswith(("openenv_core", "uvicorn.access"))] == []
