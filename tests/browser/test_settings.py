"""What an operator may set, and what stops the server before it starts."""

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from benchmarks.processes import source_path
from browsergym_env_server.executable import find_browser, install_browser
from browsergym_env_server.origins import Origin
from browsergym_env_server.pages import find_pages
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.start import check_start
from openenv_core.errors import ConfigurationError


def test_variables_are_read() -> None:
    settings = BrowserGymSettings.from_environ(
        {
            "BROWSERGYM_TASK_NAME": "login-user",
            "BROWSERGYM_OBSERVE": "axtree, html",
            "BROWSERGYM_VIEWPORT_WIDTH": "800",
            "BROWSERGYM_MAX_STEPS": "none",
            "BROWSERGYM_HEADLESS": "false",
            "BROWSERGYM_TIMEOUT": "2500",
            "BROWSERGYM_ALLOWED_ORIGINS": "https://example.org http://127.0.0.1:8080",
            "MINIWOB_URL": "http://127.0.0.1:8888/miniwob",
        }
    )
    assert (settings.task_name, settings.observe, settings.max_steps) == ("login-user", ("axtree", "html"), None)
    assert (settings.viewport_width, settings.viewport_height, settings.headless) == (800, 214, False)
    assert settings.timeout_s == 2.5
    assert settings.allowed_origins == (Origin("https", "example.org", 443), Origin("http", "127.0.0.1", 8080))
    assert settings.pages_url == "http://127.0.0.1:8888/miniwob/"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BROWSERGYM_BENCHMARK", "webarena"),
        ("BROWSERGYM_OBSERVE", "axtree,sound"),
        ("BROWSERGYM_VIEWPORT_WIDTH", "0"),
        ("BROWSERGYM_TIMEOUT", "inf"),
        ("BROWSERGYM_MAX_STEPS", "-1"),
        ("BROWSERGYM_HEADLESS", "maybe"),
        ("BROWSERGYM_ACTIONS", "click,upload_file"),
        ("BROWSERGYM_SANDBOX", "some"),
        ("BROWSERGYM_ALLOWED_ORIGINS", "file:///etc"),
        ("MINIWOB_URL", "file:///pages"),
        ("MINIWOB_HTTP_PORT", "70000"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_the_variables_name(variable: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=variable):
        BrowserGymSettings.from_environ({variable: value})


def test_the_table_has_every_setting() -> None:
    table = BrowserGymSettings.table()
    assert len({variable for _, variable, _, _ in table}) == len(table) > 15


# Before the start


@pytest.fixture
def page_server() -> Iterator[str]:
    """A server that has one page: ``/miniwob/click-test.html``."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/miniwob/click-test.html" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("slash", ["", "/"])
def test_pages_may_be_elsewhere(installed_browser: str, page_server: str, slash: str) -> None:
    environ = {"MINIWOB_URL": f"{page_server}/miniwob{slash}", "BROWSERGYM_BROWSER": installed_browser}
    assert check_start(environ).pages_url == f"{page_server}/miniwob/"


def test_pages_that_are_not_there_stop_the_start(installed_browser: str, page_server: str, tmp_path: Path) -> None:
    browser = {"BROWSERGYM_BROWSER": installed_browser}
    with pytest.raises(ConfigurationError, match=r"MINIWOB_URL.*404"):
        check_start({"MINIWOB_URL": f"{page_server}/elsewhere", **browser})
    with pytest.raises(ConfigurationError, match=r"MINIWOB_URL.*not reachable"):
        check_start({"MINIWOB_URL": "http://127.0.0.1:1/miniwob", **browser})
    with pytest.raises(ConfigurationError, match="no MiniWoB pages"):
        check_start({"MINIWOB_HTML_DIR": str(tmp_path), **browser})


def test_an_unknown_task_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match=r"BROWSERGYM_TASK_NAME.*click-test"):
        check_start({"BROWSERGYM_TASK_NAME": "click-tst"})


def test_the_server_says_in_one_sentence_why_it_does_not_start() -> None:
    command = [sys.executable, "-m", "browsergym_env_server"]
    variables = {"PYTHONPATH": source_path(), "MINIWOB_URL": "nonsense", "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: MINIWOB_URL='nonsense'")
    assert ended.stderr.count("\n") == 1


# Pages on the disk


def test_pages_are_found_from_either_folder() -> None:
    root = find_pages(None).root
    assert find_pages(str(root)).root == find_pages(str(root / "miniwob")).root == root


def test_nothing_outside_the_folder_is_read() -> None:
    pages = find_pages(None)
    assert pages.read("miniwob/click-test.html") is not None
    for path in ("../__init__.py", "/etc/passwd", "miniwob/../../../../../../etc/passwd", "miniwob", "", "nothing"):
        assert pages.read(path) is None


# The browser


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_browsers_are_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("browsergym_env_server.executable._DEBIAN", ("chromium-headless-shell",))
    with pytest.raises(ConfigurationError, match="openenv install-browser"):
        find_browser()
    any_chromium = _program(tmp_path / "bin" / "chromium")
    assert find_browser().path == any_chromium
    shell = any_chromium.with_name("chromium-headless-shell")
    any_chromium.rename(shell)
    assert find_browser().path == shell
    _program(tmp_path / "cache" / "chromium_headless_shell-999" / "linux" / "headless_shell")
    newest = _program(tmp_path / "cache" / "chromium_headless_shell-1000" / "linux" / "headless_shell")
    assert find_browser().path == newest
    given = _program(tmp_path / "given" / "browser")
    assert find_browser(str(given)).path == given
    assert install_browser(str(given)).path == given


def test_a_given_browser_that_is_none_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="BROWSERGYM_BROWSER"):
        find_browser(str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match="BROWSERGYM_BROWSER"):
        install_browser(str(tmp_path / "none"))
