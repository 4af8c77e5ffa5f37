"""A visitor: a real browser at a real server's page."""

import contextlib
from collections.abc import Iterator
from typing import Any

import httpx
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, TimeoutError

from openenv_core.runtimes.process import ProcessRuntime
from tests.support.source import REPOSITORY

__all__ = ["PICTURES", "end_sessions", "keep", "sessions_of", "start", "step_by_text", "violations", "visit"]

PICTURES = REPOSITORY / "outputs" / "playground"
"""What the page looked like, for people to see."""

_LIMIT_MS = 15_000
_GRAVE = ("serious", "critical")


@contextlib.contextmanager
def visit(
    browser: Browser, url: str, path: str = "/", *, expected: tuple[str, ...] = (), **context: Any
) -> Iterator[Page]:
    """The page of a server in a window of its own, ready to be used.

    Nothing may go wrong in it unseen: an error of a script, or a rule of its policy that it breaks, fails the test
    unless ``expected`` has a part of what the browser says of it.
    """
    opened = browser.new_context(**{"viewport": {"width": 1240, "height": 860}, **context})
    opened.set_default_timeout(_LIMIT_MS)
    page = opened.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda told: faults.append(told.text) if _is_fault(told.type, told.text) else None)
    try:
        _open(page, url + path, ready=context.get("java_script_enabled", True))
        yield page
    finally:
        opened.close()
    assert [fault for fault in faults if not any(part in fault for part in expected)] == []


def _open(page: Page, address: str, *, ready: bool) -> None:
    # A browser gives up what it loads when a network of the machine comes or goes, a container's, say.
    for left in (2, 1, 0):
        page.goto(address)
        try:
            if ready:
                page.wait_for_selector("html[data-ready]", state="attached", timeout=_LIMIT_MS / 3)
            return
        except TimeoutError:
            if not left:
                raise


def _is_fault(kind: str, text: str) -> bool:
    # A browser tells of every connection that fails and every status of 4xx; tests bring about both.
    return kind == "error" and "WebSocket connection to" not in text and "Failed to load resource" not in text


def keep(page: Page, name: str, *, full: bool = False) -> None:
    """Keep what the page looks like."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    if full:
        page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=PICTURES / f"{name}.png", full_page=full)


def start(page: Page, seed: int | None = None) -> None:
    """Begin an episode."""
    if seed is not None:
        page.get_by_label("Seed", exact=True).fill(str(seed))
    page.locator(".reset button[type=submit]").click()
    page.wait_for_selector("[data-phase=running] .screen[aria-busy=false]")


def step_by_text(page: Page, text: str) -> None:
    """Type a move and send it by the Enter key."""
    steps = page.locator(".history li").count()
    page.locator(".step-form .fields-form textarea, .step-form .fields-form input").first.fill(text)
    page.keyboard.press("Enter")
    page.locator(".history li").nth(steps).wait_for()


def violations(page: Page) -> list[str]:
    """What axe finds that keeps people out."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in _GRAVE
        for node in one["nodes"]
    ]


def sessions_of(server: ProcessRuntime) -> list[dict[str, Any]]:
    """The server's sessions."""
    listed: list[dict[str, Any]] = httpx.get(f"{server.base_url}/sessions", trust_env=False).json()["sessions"]
    return listed


def end_sessions(server: ProcessRuntime) -> None:
    """End all of them."""
    for session in sessions_of(server):
        httpx.delete(f"{server.base_url}/sessions/{session['id']}", trust_env=False)
