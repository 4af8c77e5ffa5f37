"""A tab and its session: what it survives, and when it ends."""

import re

import httpx
from playwright.sync_api import Browser, Page, expect

from openenv_core.runtimes.process import ProcessRuntime
from tests.support.fault_proxy import Direction, FaultProxy
from tests.support.waiting import eventually

from .visiting import end_sessions, keep, sessions_of, start, step_by_text, visit


def ids_of(server: ProcessRuntime) -> set[str]:
    return {session["id"] for session in sessions_of(server)}


def port_of(server: ProcessRuntime) -> int:
    return int(server.base_url.rpartition(":")[2])


def test_reading_takes_no_slot(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url) as page:
        page.get_by_role("link", name="About").click()
        assert sessions_of(echo) == []


def test_a_reload_goes_on_with_the_same_session_and_all_that_was_seen(browser: Browser, wordle: ProcessRuntime) -> None:
    with visit(browser, wordle.base_url) as page:
        start(page, 3)
        step_by_text(page, "crane")
        before, board = ids_of(wordle), page.locator(".screen").inner_text()
        page.reload()
        expect(page.locator(".pill")).to_have_text("playing")
        expect(page.locator(".history li")).to_have_count(2)
        assert page.locator(".screen").inner_text() == board
        assert ids_of(wordle) == before
        step_by_text(page, "sloth")
        assert sessions_of(wordle)[0]["steps"] == 2


def test_pictures_come_back_after_a_reload(browser: Browser, browsergym: ProcessRuntime) -> None:
    with visit(browser, browsergym.base_url) as page:
        start(page, 1)
        page.reload()
        expect(page.locator("img.picture")).to_be_visible()
        assert page.locator("img.picture").evaluate("image => image.naturalWidth") == 498


def test_a_connection_that_breaks_amid_a_step_costs_nothing(browser: Browser, echo: ProcessRuntime) -> None:
    with FaultProxy(port_of(echo)) as proxy, visit(browser, proxy.base_url) as page:
        start(page)
        step_by_text(page, "one")
        before = ids_of(echo)
        # The step arrives and is done; its answer is lost on the way.
        proxy.lose(Direction.TO_CLIENT)
        page.get_by_label("message", exact=True).fill("two")
        page.keyboard.press("Enter")
        eventually(lambda: sessions_of(echo)[0]["steps"] == 2)
        proxy.refuses = True
        proxy.cut()
        expect(page.locator(".pill")).to_have_text(re.compile("connecting"))
        keep(page, "reconnecting")
        proxy.refuses = False
        expect(page.locator(".history li")).to_have_count(3)
        expect(page.locator(".history .what").last).to_have_text("two")
        step_by_text(page, "three")
        assert ids_of(echo) == before
        assert sessions_of(echo)[0]["steps"] == 3


def test_a_full_server_has_a_queue(browser: Browser, echo: ProcessRuntime) -> None:
    with (
        visit(browser, echo.base_url) as one,
        visit(browser, echo.base_url) as two,
        visit(browser, echo.base_url) as three,
    ):
        start(one)
        start(two)
        two_id = (ids_of(echo) - {sessions_of(echo)[0]["id"]}).pop()
        three.get_by_role("button", name="Start playing").click()
        expect(three.locator(".queue-place")).to_have_text("1")
        expect(three.locator(".pill")).to_have_text("waiting")
        keep(three, "queue")
        three.get_by_role("button", name="Stop waiting").click()
        expect(three.get_by_role("button", name="Start playing")).to_be_visible()
        assert httpx.get(f"{echo.base_url}/sessions", trust_env=False).json()["queued"] == 0
        three.get_by_role("button", name="Start playing").click()
        expect(three.locator(".queue-place")).to_have_text("1")
        httpx.delete(f"{echo.base_url}/sessions/{two_id}", trust_env=False)
        expect(three.locator(".pill")).to_have_text("playing")
        expect(two.locator(".ending-title")).to_have_text("The session is gone.")
        keep(two, "session-gone")
        assert len(ids_of(echo)) == 2


def test_two_tabs_have_a_session_each(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url) as one, visit(browser, echo.base_url) as two:
        start(one)
        start(two)
        step_by_text(one, "left")
        step_by_text(two, "right")
        step_by_text(two, "right again")
        expect(one.locator(".screen")).to_contain_text("left")
        assert sorted(session["steps"] for session in sessions_of(echo)) == [1, 2]


def test_a_copy_of_a_tab_does_not_take_its_session(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url) as one:
        start(one)
        step_by_text(one, "mine")
        with one.context.expect_page() as opened:
            one.evaluate("open(location.href)")  # which copies what the tab has stored, as duplicating it does
        copy = opened.value
        copy.wait_for_selector("html[data-ready]", state="attached")
        expect(copy.get_by_role("button", name="Start playing")).to_be_visible()
        step_by_text(one, "still mine")
        assert len(sessions_of(echo)) == 1


def leave(page: Page) -> None:
    page.close(run_before_unload=True)


def test_a_tab_that_is_closed_gives_its_slot_back(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url) as page:
        start(page)
        assert sessions_of(echo)[0]["door"] == "page"
        leave(page)
        eventually(lambda: sessions_of(echo) == [])


def test_a_session_that_is_ended_from_elsewhere_is_told_and_a_new_one_begins(
    browser: Browser, echo: ProcessRuntime
) -> None:
    with visit(browser, echo.base_url) as page:
        start(page)
        step_by_text(page, "hello")
        end_sessions(echo)
        expect(page.locator(".ending-title")).to_have_text("The session is gone.")
        expect(page.locator(".history li")).to_have_count(2)
        page.get_by_role("button", name="Play again").click()
        expect(page.locator(".pill")).to_have_text("playing")
        expect(page.locator(".history li")).to_have_count(1)
        page.reload()
        expect(page.locator(".pill")).to_have_text("playing")


def test_a_reload_after_the_session_has_ended_says_so(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url) as page:
        start(page)
        step_by_text(page, "hello")
        page.goto("about:blank")
        end_sessions(echo)
        page.go_back()
        expect(page.locator(".ending-title")).to_have_text("The session is gone.")
        expect(page.locator(".history li")).to_have_count(2)
