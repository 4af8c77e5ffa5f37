"""The page as a document: what it says, what it loads, where it works."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from openenv_core.runtimes.process import ProcessRuntime

from .proxy import behind_prefix_and_tls
from .visiting import keep, start, step_by_text, visit

_BUDGET = 150_000


def test_the_first_load_is_small_and_from_here_alone(browser: Browser, openspiel: ProcessRuntime) -> None:
    with visit(browser, openspiel.base_url) as page:
        page.wait_for_load_state("networkidle")
        entries = page.evaluate(
            "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            ".map(entry => [entry.name, entry.transferSize])"
        )
        assert all(name.startswith(openspiel.base_url) for name, _ in entries)
        assert len(entries) > 5
        assert sum(size for _, size in entries) <= _BUDGET


@pytest.mark.parametrize("path", ["/", "/web", "/web/"])
def test_every_address_leads_to_the_page(path: str, echo: ProcessRuntime) -> None:
    reply = httpx.get(echo.base_url + path, follow_redirects=True, trust_env=False)
    assert (reply.status_code, reply.url.path) == (200, "/web/")
    assert "Echo environment" in reply.text


@pytest.mark.parametrize(("prefix", "to"), [("/lab/x-1", "/lab/x-1/web/"), ("//evil.test", "web/"), ("/a b", "web/")])
def test_a_proxy_may_say_what_it_has_put_before_the_path(prefix: str, to: str, echo: ProcessRuntime) -> None:
    reply = httpx.get(f"{echo.base_url}/", headers={"x-forwarded-prefix": prefix}, trust_env=False)
    assert (reply.status_code, reply.headers["location"]) == (307, to)


def test_the_headers_let_nothing_foreign_in(echo: ProcessRuntime) -> None:
    page = httpx.get(f"{echo.base_url}/web/", trust_env=False)
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert page.headers["x-content-type-options"] == "nosniff"
    script = re.search(r'src="(static/\w+/main.js)"', page.text)
    assert script is not None
    file = httpx.get(f"{echo.base_url}/web/{script[1]}", trust_env=False)
    assert file.headers["content-type"].startswith("text/javascript")
    assert "immutable" in file.headers["cache-control"]
    assert file.headers["x-content-type-options"] == "nosniff"
    older = httpx.get(f"{echo.base_url}/web/static/000000000000/main.js", trust_env=False)
    assert (older.status_code, older.headers["cache-control"]) == (200, "no-cache")
    for name in ("none.js", "..%2fpages.py", "%2e%2e/pages.py"):
        assert httpx.get(f"{echo.base_url}/web/static/x/{name}", trust_env=False).status_code == 404


def test_all_that_is_to_be_read_is_there_without_scripts(browser: Browser, openspiel: ProcessRuntime) -> None:
    with visit(browser, openspiel.base_url, java_script_enabled=False) as page:
        expect(page.get_by_role("heading", name="OpenSpiel environment")).to_be_visible()
        expect(page.locator(".snippet").first).to_contain_text(f'base_url="{openspiel.base_url}"')
        expect(page.locator(".model", has_text="Options of reset")).to_contain_text("opponent_policy")
        expect(page.locator(".model", has_text="Action").first).to_be_visible()
        expect(page.get_by_text("Sessions at a time")).to_be_visible()
        expect(page.locator("#play")).to_be_hidden()
        keep(page, "without-scripts", full=True)


def test_programs_from_the_page_run(browser: Browser, echo: ProcessRuntime, tmp_path: Path) -> None:
    with visit(browser, echo.base_url, "/web/#about") as page:
        for summary in page.locator(".snippet summary").all()[1:]:
            summary.click()
        codes = {
            snippet.locator("summary").inner_text(): snippet.locator("code").inner_text()
            for snippet in page.locator(".snippet").all()
        }
    assert list(codes) == ["Python", "Python, async", "curl", "Training with TRL"]
    for title in ("Python", "Python, async"):
        done = subprocess.run(
            [sys.executable, "-c", codes[title]], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.rstrip().endswith("0.5 False")
    shell = subprocess.run(
        ["bash", "-e", "-c", codes["curl"]], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert '"step_count":1' in shell.stdout
    compile(codes["Training with TRL"], "training", "exec")


def test_the_page_works_below_a_path_and_behind_tls(browser: Browser, echo: ProcessRuntime, tmp_path: Path) -> None:
    with (
        behind_prefix_and_tls(echo.base_url, "/lab/echo", tmp_path) as url,
        visit(browser, url, "/web", ignore_https_errors=True) as page,
    ):
        assert page.url == f"{url}/web/"
        start(page)
        step_by_text(page, "far away")
        expect(page.locator(".screen")).to_contain_text("far away")
        page.get_by_role("link", name="About").click()
        expect(page.locator(".snippet").first).to_contain_text(f'base_url="{url}"')


def test_a_server_with_a_token_asks_for_it_once(browser: Browser) -> None:
    with ProcessRuntime("echo_env", arguments=["--web"], env_vars={"OPENENV_TOKEN": "canary"}) as server:
        refused = httpx.get(f"{server.base_url}/web/", headers={"accept": "text/html"}, trust_env=False)
        assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
        credentials = {"username": "anybody", "password": "canary"}
        with visit(browser, server.base_url, http_credentials=credentials) as page:
            start(page)
            step_by_text(page, "let in")
            page.reload()
            expect(page.locator(".history li")).to_have_count(2)
            step_by_text(page, "still in")
            page.get_by_role("link", name="Watch").click()
            expect(page.locator(".session")).to_have_count(1)
            assert "canary" not in page.content()


def test_dark_and_light_are_remembered(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url, color_scheme="light") as page:
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Dark colours").click()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.reload()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark != light
        expect(page.get_by_role("button", name="Light colours")).to_be_visible()
