"""Operators look on while a client plays, and afterwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from openenv_core.runtimes.process import ProcessRuntime
from openspiel_env import OpenSpielAction, OpenSpielEnv
from tests.support.waiting import eventually

from .visiting import keep, violations, visit


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessRuntime]:
    """Catch, with recordings."""
    folder: Path = tmp_path_factory.mktemp("recordings")
    with ProcessRuntime("openspiel_env", arguments=["--web", "--record", str(folder)]) as runtime:
        yield runtime


def play(client: OpenSpielEnv, seed: int, actions: list[int]) -> None:
    client.reset(seed=seed)
    for action in actions:
        client.step(OpenSpielAction(action_id=action))


def test_a_session_is_followed_step_by_step(browser: Browser, server: ProcessRuntime) -> None:
    with OpenSpielEnv(base_url=server.base_url) as client, visit(browser, server.base_url, "/web/#watch") as page:
        play(client, 5, [0])
        card = page.locator(".session")
        expect(card).to_have_count(1)
        expect(card).to_contain_text("1 step ·")
        expect(page.locator(".chart")).to_have_count(3)
        assert violations(page) == []
        keep(page, "watch")
        card.click()
        expect(page.locator("#watch-root .pill")).to_have_text("live")
        client.step(OpenSpielAction(action_id=2))
        expect(page.locator(".log-row").last).to_contain_text("RIGHT")
        client.step(OpenSpielAction(action_id=2))
        expect(page.get_by_text("3 steps, return 0.")).to_be_visible()
        expect(page.get_by_role("table", name="Board").locator(".tone-other")).to_have_count(1)
        assert violations(page) == []
        keep(page, "follow")
        page.get_by_role("button", name="End this session").click()
        page.get_by_role("button", name="Really end it?").click()
        expect(page.locator("#watch-root .pill")).to_have_text("ended")
        page.get_by_role("link", name="All sessions").click()
        expect(page.get_by_text("Nobody plays at the moment.")).to_be_visible()
        expect(page.locator(".bars")).to_contain_text("closed")


def test_nobody_looks_when_the_page_shows_something_else(browser: Browser, server: ProcessRuntime) -> None:
    with visit(browser, server.base_url, "/web/#watch") as page:
        with page.expect_response("**/api/sessions*"):
            pass
        page.get_by_role("link", name="About").click()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(2300)
        assert asked == []


def test_episodes_are_listed_filtered_stepped_through_and_compared(browser: Browser, server: ProcessRuntime) -> None:
    with OpenSpielEnv(base_url=server.base_url) as client:
        play(client, 2, [1] * 9)
        play(client, 3, [0] * 9)
        play(client, 4, [2] * 9)
    eventually(lambda: len([row for row in _listed(server) if row["end"] == "terminated"]) >= 3)
    rewards = [row["reward"] for row in _listed(server)]
    with visit(browser, server.base_url, "/web/#replay") as page:
        expect(page.locator("table.list tbody tr").first).to_be_visible()
        assert violations(page) == []
        keep(page, "replay-list")
        page.get_by_label("to", exact=True).fill("-1")
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("table.list tbody tr")).to_have_count(sum(reward <= -1 for reward in rewards))
        page.locator("table.list a").first.click()
        expect(page.locator(".step-told")).to_contain_text("reset, seed")
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        expect(page.locator(".step-told")).to_contain_text("reward -1 · return -1 · the end")
        expect(page.get_by_role("table", name="Board")).to_be_visible()
        assert violations(page) == []
        keep(page, "replay")
        page.get_by_role("link", name="All episodes").click()
        expect(page.get_by_role("checkbox").nth(1)).to_be_visible()
        for box in page.get_by_role("checkbox").all()[:2]:
            box.check()
        page.get_by_role("button", name="Compare two").click()
        expect(page.locator(".player")).to_have_count(2)
        page.get_by_role("button", name="Step forward").click()
        expect(page.locator(".player .step-told").first).to_contain_text("reward 0")
        keep(page, "compare")


def _listed(server: ProcessRuntime) -> list[dict[str, Any]]:
    reply = httpx.get(f"{server.base_url}/web/api/recordings", trust_env=False)
    rows: list[dict[str, Any]] = reply.json()["episodes"]
    return rows


def test_a_server_that_records_nothing_says_how_to(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url, "/web/#replay") as page:
        expect(page.get_by_text("--record recordings/")).to_be_visible()
