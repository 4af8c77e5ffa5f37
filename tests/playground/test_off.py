"""A server without the page is as it was: nothing of it is loaded, and nothing is there."""

import json
import subprocess
import sys

from fastapi.testclient import TestClient

from echo_env_server import spec
from openenv_core.server import create_app_from_spec
from openenv_core.settings import ServerSettings
from tests.support.source import REPOSITORY

_PROBE = """
import json, sys
from echo_env_server import spec
from openenv_core.server import create_app_from_spec
from openenv_core.settings import ServerSettings
create_app_from_spec(spec, ServerSettings(max_sessions=2, web_interface={on}))
print(json.dumps(sorted(sys.modules)))
"""


def loaded(on: bool) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE.format(on=on)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stdout))


def test_nothing_of_the_page_is_loaded_unless_it_is_on() -> None:
    off, on = loaded(False), loaded(True)
    of_the_page = ("openenv_core.server.playground", "openenv_core.rendering", "jinja2", "markdown_it")
    assert {name for name in off if name.startswith(of_the_page)} == set()
    assert all(any(name.startswith(part) for name in on) for part in of_the_page)


def test_a_space_may_be_shown_inside_its_page_of_the_hub() -> None:
    settings = ServerSettings(max_sessions=2, web_interface=True, public_host="me-echo.hf.space")
    with TestClient(create_app_from_spec(spec, settings), base_url="https://me-echo.hf.space") as client:
        page = client.get("/")
    assert page.headers["content-security-policy"].endswith("frame-ancestors 'self' https://huggingface.co")
    assert "base_url=&#34;https://me-echo.hf.space&#34;" in page.text


def test_there_is_no_page_unless_it_is_on() -> None:
    with TestClient(create_app_from_spec(spec, ServerSettings(max_sessions=2)), base_url="http://127.0.0.1") as client:
        assert [client.get(path).status_code for path in ("/", "/web", "/web/", "/web/frame")] == [404] * 4
