"""Everybody can use it: axe finds nothing that keeps people out, whatever the colours and the size of the screen."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from openenv_core.runtimes.process import ProcessRuntime

from .visiting import keep, start, step_by_text, violations, visit

_WINDOWS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}


@pytest.mark.parametrize("window", _WINDOWS)
def test_playing(window: str, browser: Browser, wordle: ProcessRuntime, openspiel: ProcessRuntime) -> None:
    with visit(browser, wordle.base_url, **_WINDOWS[window]) as page:
        assert violations(page) == []
        start(page, 3)
        step_by_text(page, "crane")
        step_by_text(page, "zzzzz")
        for summary in page.locator(".panel > summary").all():
            summary.click()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keep(page, f"access-wordle-{window}", full=True)
    with visit(browser, openspiel.base_url, **_WINDOWS[window]) as page:
        page.locator(".reset summary").click()
        page.locator(".reset").get_by_label("game name").fill("tic_tac_toe")
        start(page, 1)
        assert violations(page) == []
        keep(page, f"access-board-{window}", full=True)


@pytest.mark.parametrize("window", _WINDOWS)
def test_reading(window: str, browser: Browser, openspiel: ProcessRuntime) -> None:
    with visit(browser, openspiel.base_url, "/web/#about", **_WINDOWS[window]) as page:
        for summary in page.locator("#about summary").all():
            summary.click()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keep(page, f"access-about-{window}", full=True)


@pytest.mark.parametrize("window", _WINDOWS)
def test_forms_with_errors(window: str, browser: Browser, kinds: ProcessRuntime) -> None:
    with visit(browser, kinds.base_url, **_WINDOWS[window]) as page:
        start(page)
        page.get_by_role("group", name="tags").get_by_role("button", name="Add").click()
        page.get_by_role("button", name="Step", exact=True).click()
        expect(page.locator(".field-error").locator("visible=true").first).to_be_visible()
        assert violations(page) == []
        keep(page, f"access-form-{window}", full=True)
