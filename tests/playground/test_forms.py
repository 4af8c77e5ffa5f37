"""The form that is made from an action's schema, and that of the options of reset."""

import json
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from openenv_core.runtimes.process import ProcessRuntime

from .visiting import keep, start, visit

_RIGHT = {
    "name": "bob",
    "count": 3,
    "share": 0.5,
    "colour": "green",
    "sure": True,
    "tags": ["a", "bc"],
    "place": {"x": 4, "y": 0},
    "move": {"kind": "talk", "words": "hello"},
    "limit": None,
    "note": "",
    "points": [],
    "even": 2,
}


def form_of(page: Page) -> Locator:
    return page.locator(".step-form .fields-form")


def error_at(page: Page, label: str) -> Locator:
    """What is told at a field."""
    field = form_of(page).get_by_label(label, exact=True).first
    described = (field.get_attribute("aria-describedby") or "").split()
    return page.locator(f"#{described[-1]}")


def fill_in(page: Page) -> None:
    """What is needed, and right."""
    form = form_of(page)
    form.get_by_label("name", exact=True).fill("bob")
    form.get_by_label("count", exact=True).fill("3")
    form.get_by_label("share", exact=True).fill("0.5")
    form.get_by_label("colour", exact=True).select_option(label="green")
    form.get_by_label("sure", exact=True).check()
    for number, tag in enumerate(("a", "bc"), start=1):
        form.get_by_role("group", name="tags").get_by_role("button", name="Add").click()
        form.get_by_label(f"tags {number}", exact=True).fill(tag)
    form.get_by_role("group", name="place").get_by_label("x", exact=True).fill("4")
    form.get_by_label("move", exact=True).select_option(label="talk")
    form.get_by_label("words", exact=True).fill("hello")


def heard(page: Page) -> dict[str, Any]:
    """What the environment has understood."""
    text: dict[str, Any] = json.loads(page.locator(".screen .text").last.inner_text())
    return text


def send(page: Page, *, steps: int) -> None:
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".history li")).to_have_count(steps + 1)


def test_every_kind_of_field_arrives_as_it_was_given(browser: Browser, kinds: ProcessRuntime) -> None:
    with visit(browser, kinds.base_url) as page:
        start(page)
        fill_in(page)
        keep(page, "form-filled", full=True)
        send(page, steps=1)
        assert heard(page) == _RIGHT
        fill_in_again = form_of(page)
        fill_in_again.get_by_label("name", exact=True).fill("eve")
        fill_in_again.get_by_label("count", exact=True).fill("1")
        fill_in_again.get_by_label("share", exact=True).fill("1")
        fill_in_again.get_by_label("tags 1", exact=True).fill("z")
        fill_in_again.get_by_role("button", name="Remove tags 2").click()
        fill_in_again.get_by_role("group", name="place").get_by_label("x", exact=True).fill("9")
        fill_in_again.get_by_label("move", exact=True).select_option(label="walk")
        fill_in_again.get_by_label("steps", exact=True).fill("5")
        page.get_by_text("4 more fields").click()
        fill_in_again.get_by_label("limit").fill("7")
        fill_in_again.get_by_role("group", name="points").get_by_role("button", name="Add").click()
        fill_in_again.get_by_role("group", name="points 1").get_by_label("y").fill("2")
        fill_in_again.get_by_role("group", name="points 1").get_by_label("x", exact=True).fill("1")
        send(page, steps=2)
        assert heard(page) == {
            **_RIGHT,
            "name": "eve",
            "count": 1,
            "share": 1.0,
            "tags": ["z"],
            "place": {"x": 9, "y": 0},
            "move": {"kind": "walk", "steps": 5},
            "limit": 7,
            "points": [{"x": 1, "y": 2}],
        }


def test_what_is_wrong_is_told_at_its_field_and_nothing_is_sent(browser: Browser, kinds: ProcessRuntime) -> None:
    with visit(browser, kinds.base_url) as page:
        start(page)
        page.get_by_role("button", name="Step", exact=True).click()
        expect(error_at(page, "name")).to_have_text("This is needed.")
        expect(form_of(page).get_by_label("name", exact=True)).to_be_focused()
        fill_in(page)
        wrong = {
            "name": ("Bob", "must look like"),
            "count": ("6", "must be 1 to 5"),
            "share": ("0", "must be 0 to 1"),
            "tags 2": ("toolong", "At most 5 characters"),
            "words": ("x", "At least 2 characters"),
        }
        for label, (value, _) in wrong.items():
            form_of(page).get_by_label(label, exact=True).fill(value)
        form_of(page).get_by_role("group", name="place").get_by_label("x", exact=True).fill("1.5")
        page.get_by_role("button", name="Step", exact=True).click()
        for label, (_, message) in wrong.items():
            expect(error_at(page, label)).to_contain_text(message)
        expect(error_at(page, "x")).to_contain_text("not a whole number")
        expect(form_of(page).get_by_label("count", exact=True)).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".history li")).to_have_count(1)
        keep(page, "form-errors", full=True)
        form_of(page).get_by_label("count", exact=True).fill("5")
        expect(error_at(page, "count")).to_be_hidden()


def test_what_only_the_server_finds_wrong_is_told_too(browser: Browser, kinds: ProcessRuntime) -> None:
    with visit(browser, kinds.base_url) as page:
        start(page)
        fill_in(page)
        page.get_by_text("4 more fields").click()
        form_of(page).get_by_label("note").fill("refused")
        page.get_by_role("button", name="Step", exact=True).click()
        expect(page.locator(".controls .notice")).to_contain_text("a note must not say that")
        form_of(page).get_by_label("note").fill("fine")
        form_of(page).get_by_label("even").fill("4")
        send(page, steps=1)
        assert heard(page) == {**_RIGHT, "note": "fine", "even": 4}
        expect(page.locator(".controls .notice")).to_be_hidden()


def test_the_server_s_errors_find_their_fields(browser: Browser, kinds: ProcessRuntime) -> None:
    with visit(browser, kinds.base_url) as page:
        start(page)
        fill_in(page)
        page.locator(".raw summary").click()
        raw = page.get_by_label("The whole action as JSON")
        raw.fill(json.dumps({**_RIGHT, "count": 9, "place": {"x": 10}, "move": {"kind": "talk", "words": "y"}}))
        page.get_by_role("button", name="Send JSON").click()
        expect(error_at(page, "count")).to_contain_text("less than or equal to 5")
        expect(error_at(page, "x")).to_contain_text("less than or equal to 9")
        expect(error_at(page, "words")).to_contain_text("at least 2 characters")


def test_the_options_of_reset(browser: Browser, kinds: ProcessRuntime) -> None:
    with visit(browser, kinds.base_url) as page:
        page.get_by_label("Seed", exact=True).fill("-1")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.locator("#seed-error")).to_contain_text("whole number")
        page.get_by_label("Seed", exact=True).fill("7")
        page.locator(".reset summary").click()
        page.locator(".reset").get_by_label("level").select_option(label="hard")
        size = page.locator(".reset").get_by_label("size")
        expect(page.locator(".reset .meaning").first).to_have_text("how hard it is.")
        size.fill("9")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.locator(".reset .field-error").locator("visible=true")).to_have_text("This must be 2 to 8.")
        size.fill("8")
        start(page)
        expect(page.locator(".screen")).to_contain_text("hard, 8")
        expect(page.locator(".stage-title")).to_have_text("Kinds · seed 7")
