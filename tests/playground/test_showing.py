"""What an environment says is shown as what it is."""

import re

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from openenv_core.runtimes.process import ProcessRuntime

from .visiting import keep, start, visit
from .worlds import HOSTILE, LONG

_TITLE = "Gallery · OpenEnv"


def show(page: Page, what: str) -> None:
    """Have it shown."""
    start(page)
    page.locator(".action", has_text=f"show {what}").click()
    page.wait_for_selector(".history li:nth-child(2)")
    page.wait_for_selector(".screen[aria-busy=false]")


def test_markup_and_control_characters_are_text(browser: Browser, gallery: ProcessRuntime) -> None:
    with visit(browser, gallery.base_url) as page:
        show(page, "hostile")
        shown = HOSTILE.replace("\x1b", "\\x1b").replace("\x07", "\\x07")
        expect(page.locator(".screen .text").first).to_have_text(shown)
        page.get_by_text("Observation as JSON").click()
        expect(page.locator(".json").first).to_contain_text("<script>document.title='taken'</script>")
        expect(page.locator(".json").first).to_contain_text("\\u001b[31mred")
        keep(page, "hostile")
        assert page.title() == _TITLE
        assert page.locator(".screen script, .screen img, .json img").count() == 0


def test_five_megabytes_of_text(browser: Browser, gallery: ProcessRuntime) -> None:
    with visit(browser, gallery.base_url) as page:
        show(page, "long")
        text = page.locator(".screen .text").first
        assert len(text.inner_text()) < len(LONG)
        page.get_by_role("button", name="characters more").click()
        expect(page.get_by_role("button", name="characters more")).to_have_count(0)
        assert text.evaluate("element => element.textContent") == LONG
        page.locator(".action", has_text="show hostile").click()
        expect(page.locator(".history li")).to_have_count(3)
        page.reload()
        expect(page.locator(".history li")).to_have_count(3)


def test_a_large_picture(browser: Browser, gallery: ProcessRuntime) -> None:
    with visit(browser, gallery.base_url) as page:
        show(page, "picture")
        picture = page.locator("img.picture")
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 3840
        assert picture.evaluate("image => image.clientWidth <= innerWidth && image.clientHeight <= innerHeight")
        expect(page.get_by_text(re.compile("3840 . 2160, full size"))).to_be_visible()
        keep(page, "large-picture")


def test_an_author_s_html_is_in_a_frame_that_can_do_nothing(browser: Browser, gallery: ProcessRuntime) -> None:
    loaded: list[str] = []
    with visit(browser, gallery.base_url, expected=("violates the following Content Security Policy",)) as page:
        page.on("requestfinished", lambda request: loaded.append(request.url))
        show(page, "html")
        frame = page.frame_locator("iframe.html")
        expect(frame.locator("p")).to_have_css("color", "rgb(1, 2, 3)")
        expect(page.locator("iframe.html")).to_have_attribute("sandbox", "allow-scripts")
        inside = page.frames[-1]
        assert inside.evaluate("self.origin") == "null"
        with pytest.raises(Error, match="cross-origin"):
            inside.evaluate("parent.document.title")
        assert page.title() == _TITLE
        keep(page, "html")
    assert f"{gallery.base_url}/web/frame" in loaded
    assert [url for url in loaded if not url.startswith(f"{gallery.base_url}/web/") or url.endswith("/x")] == []


def test_what_hooks_give_is_drawn(browser: Browser, gallery: ProcessRuntime) -> None:
    with visit(browser, gallery.base_url) as page:
        show(page, "hooked")
        expect(page.locator(".screen .text")).to_contain_text("<script>")
        expect(page.get_by_alt_text("a red field")).to_be_visible()
        page.get_by_alt_text("a red field").click()  # which does an action, here
        expect(page.get_by_role("table", name="Board")).to_be_visible()
        expect(page.get_by_role("cell", name=re.compile("A ?, yours"))).to_be_visible()
        keep(page, "hooked")


def test_a_view_that_cannot_be_sent_costs_the_view_and_not_the_step(browser: Browser, gallery: ProcessRuntime) -> None:
    with visit(browser, gallery.base_url) as page:
        start(page)
        page.get_by_text("As a form").click()
        page.locator(".step-form").get_by_label("what").select_option(label="odd")
        page.locator(".step-form").get_by_role("button", name="Step", exact=True).click()
        expect(page.locator(".screen")).to_contain_text("cannot be drawn")
        page.locator(".step-form").get_by_label("what").select_option(label="hostile")
        page.locator(".step-form").get_by_role("button", name="Step", exact=True).click()
        expect(page.locator(".screen")).to_contain_text("<script>")
        expect(page.locator(".history li")).to_have_count(3)


def test_a_hook_that_fails_costs_the_view_and_not_the_step(browser: Browser, gallery: ProcessRuntime) -> None:
    with visit(browser, gallery.base_url) as page:
        start(page)
        page.keyboard.press("b")
        expect(page.locator(".screen")).to_contain_text("the observation itself")
        expect(page.locator(".history li")).to_have_count(2)
        assert "the author's mistake" in gallery.logs()
        page.get_by_text("As a form").click()
        form = page.locator(".step-form")
        form.get_by_label("what").select_option(label="grid")
        form.get_by_role("button", name="Step").click()
        expect(page.get_by_role("table", name="Board")).to_be_visible()
