"""One session in a real browser: what reset takes, what is seen, how episodes end, what pages cannot do to it.

Longer than 400 lines: all of it shares one browser and one way to run.
"""

import asyncio
from dataclasses import replace
from typing import Any

import numpy
import pytest

from browsergym_env import BrowserGymAction
from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.executable import FoundBrowser
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.tasks import MINIWOB_TASKS
from openenv_core.errors import EpisodeNotStartedError, EpisodeOverError, ValidationFailedError

from .acting import act, own_browser, script
from .conftest import Run


async def _with(settings: BrowserGymSettings) -> BrowserGymEnvironment:
    environment = BrowserGymEnvironment(settings)
    await environment.reset(seed=1)
    return environment


# Reset


def test_a_seed_determines_the_page(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        first = await environment.reset(seed=3, task_name="click-checkboxes")
        other = await environment.reset(seed=4, task_name="click-checkboxes")
        await act(environment, "mouse_down(10, 10)", "goto('about:blank')")
        again = await environment.reset(seed=3, task_name="click-checkboxes")
        assert again.model_dump() == first.model_dump()
        assert other.goal != first.goal
        unseeded = {(await environment.reset(task_name="click-checkboxes")).axtree_txt for _ in range(4)}
        assert len(unseeded) > 1

    run(main())


def test_reset_switches_the_task_for_real(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        first = await environment.reset(seed=1)
        second = await environment.reset(seed=1, task_name="miniwob.login-user")
        assert (first.goal, "Login" in second.axtree_txt) == ("Click the button.", True)
        assert environment.state.task_name == "login-user"
        assert environment.state.task_id == "miniwob.login-user"
        assert (await environment.reset(seed=1)).goal == first.goal

    run(main())


def test_a_refused_reset_leaves_the_episode_as_it_is(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        with pytest.raises(ValidationFailedError, match="click-button"):
            await environment.reset(task_name="click-buton")
        with pytest.raises(ValidationFailedError, match="seed"):
            await environment.reset(seed=2**32)
        assert (await act(environment, "click('13')")).reward == 1.0

    run(main())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("half", [0, 1])
def test_every_task_opens_and_is_the_same_again(run: Run, environment: BrowserGymEnvironment, half: int) -> None:
    async def main() -> None:
        for task in MINIWOB_TASKS[half::2]:
            seen = await environment.reset(seed=11, task_name=task, observe=["axtree"])
            assert seen.goal, task
            assert seen.axtree_txt.startswith("RootWebArea"), task
            assert not (await act(environment, "noop(0)")).done, task
            again = await environment.reset(seed=11, task_name=task, observe=["axtree"])
            assert (again.goal, again.focused_bid) == (seen.goal, seen.focused_bid), task
            if task != "stock-market":  # its price is on a timer
                assert again.axtree_txt == seen.axtree_txt, task

    run(main())


def test_out_of_turn_calls_are_refused(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        with pytest.raises(EpisodeNotStartedError):
            await environment.step(BrowserGymAction(action_str="noop(0)"))
        await environment.reset(seed=1)
        assert (await act(environment, "click('13')")).done
        for _ in range(2):
            with pytest.raises(EpisodeOverError):
                await environment.step(BrowserGymAction(action_str="click('13')"))
        assert environment.state.cum_reward == 1.0

    run(main())


# What is seen


def test_only_what_is_asked_for_is_taken(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        seen = await environment.reset(seed=1, observe=["screenshot"])
        assert (seen.text, seen.axtree_txt, seen.pruned_html, seen.dom_txt) == ("", "", "", "")
        assert seen.screenshot is not None
        assert seen.goal == "Click the button."
        seen = await environment.reset(seed=1, observe=["html"])
        assert seen.screenshot is None
        assert seen.text == seen.pruned_html
        assert '<button bid="13"' in seen.pruned_html
        assert "<script" not in seen.pruned_html
        seen = await environment.reset(seed=1, observe=["dom"])
        assert seen.text == seen.dom_txt
        assert "<script" in seen.dom_txt
        seen = await environment.reset(seed=1, observe=["axtree", "html"])
        assert seen.text == seen.axtree_txt
        seen = await environment.reset(seed=1)
        assert seen.axtree_txt
        assert seen.screenshot is not None

    run(main())


def test_boxes_tell_where_in_the_picture_the_elements_are(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        seen = await environment.reset(seed=1, observe=["screenshot", "boxes"])
        left, top, width, height = seen.boxes["13"]
        done = await act(environment, f"mouse_click({left + width / 2}, {top + height / 2})")
        assert done.success is True
        assert (await environment.reset(seed=1)).boxes == {}

    run(main())


def test_a_picture_is_what_users_of_the_public_package_expect(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        picture = (await environment.reset(seed=1)).screenshot
        assert picture is not None
        pixels = numpy.array(picture, dtype=numpy.uint8)
        assert pixels.shape == (321, 498, 3)
        assert pixels.std() > 1
        assert picture.to_pil().size == (498, 321)
        assert picture.png.startswith(b"\x89PNG")
        assert len(picture.png) < 60_000

    run(main())


@pytest.mark.parametrize("is_shell", [True, False], ids=["magnified", "drawn anew"])
def test_viewport_and_scale_are_the_operators(run: Run, is_shell: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FoundBrowser, "is_shell", is_shell)

    async def main() -> None:
        settings = replace(BrowserGymSettings(), viewport_width=400, viewport_height=300, screenshot_scale=2.0)
        async with own_browser(settings) as (_, open_session):
            environment = open_session()
            seen = await environment.reset(seed=1)
            assert seen.screenshot is not None
            assert seen.screenshot.size == (800, 600)
            box: Any = await script(
                environment,
                "const box = document.getElementById('subbtn').getBoundingClientRect();"
                "return [box.x, box.y, innerWidth, innerHeight]",
            )
            assert box[2:] == [400, 300]
            # Coordinates count in pixels of the picture; there the button is as in the page.
            pixels = numpy.array(seen.screenshot)
            x, y = round(2 * box[0]), round(2 * box[1])
            assert tuple(pixels[y - 4, x - 4]) == (255, 255, 255) != tuple(pixels[y + 8, x + 8])
            assert (await act(environment, f"mouse_click({x + 4}, {y + 4})")).reward == 1.0
            await environment.reset(seed=1)
            assert (await act(environment, "hover('13')", "click('13')")).reward == 1.0

    run(main())


# How episodes end


def test_steps_are_limited(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        await environment.reset(seed=1, max_steps=2)
        assert not (await act(environment, "noop(0)")).done
        seen = await act(environment, "noop(0)")
        assert (seen.done, seen.truncated, seen.reward, seen.success) == (True, True, 0.0, False)
        assert seen.end_reason == "step limit: 2 steps"
        assert environment.state.max_steps == 2

    run(main())


def test_time_is_limited(run: Run) -> None:
    async def main() -> None:
        environment = await _with(replace(BrowserGymSettings(), episode_limit_s=0.2))
        try:
            await environment.reset(seed=1)
            seen = await act(environment, "noop(250)")
            assert (seen.done, seen.truncated) == (True, True)
            assert seen.end_reason.startswith("time limit")
        finally:
            await environment.close()

    run(main())


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("goto('http://miniwob.localhost/miniwob/click-test-2.html')", "left for http://miniwob.localhost"),
        ("goto('http://miniwob.localhost/miniwob/click-test.html')", "loaded again"),
        ("goto('about:blank')", "left for about:blank"),
        ("new_tab()", "another tab"),
        ("tab_close()", "another tab"),
        ("report_infeasible('there is no such button')", "infeasible"),
    ],
)
def test_leaving_ends_the_episode_with_its_reason(
    run: Run, environment: BrowserGymEnvironment, action: str, reason: str
) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        seen = await act(environment, action)
        assert (seen.done, seen.truncated, seen.reward, seen.success) == (True, False, 0.0, False)
        assert reason in seen.end_reason
        await environment.reset(seed=1)
        assert (await act(environment, "click('13')")).reward == 1.0

    run(main())


def test_there_is_nothing_to_go_back_to(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        for _ in range(2):
            await environment.reset(seed=1)
        seen = await act(environment, "go_back()", "go_forward()")
        assert (seen.done, seen.error) == (False, "")

    run(main())


def test_an_end_is_paid_once_whatever_follows_it(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        # The page itself would start another episode at a click on its cover, which is where the button was.
        await environment.reset(seed=1, task_name="click-test")
        seen = await act(environment, "click('13')\nmouse_click(120, 120)\nclick('13')")
        assert (seen.reward, seen.raw_reward, seen.done) == (1.0, 1.0, True)
        await environment.reset(seed=0, task_name="click-checkboxes")
        seen = await act(environment, "click('18')\nclick('27')\nclick('21')\nclick('27')")
        assert (seen.reward, seen.success, seen.done) == (0.0, False, True)
        assert seen.raw_reward is not None
        assert -1.0 <= seen.raw_reward < 0.0

    run(main())


def test_a_search_result_can_be_opened(run: Run, environment: BrowserGymEnvironment) -> None:
    """Its links have ``href="#"``: the address changes, the page does not."""

    async def main() -> None:
        for seed in range(20):
            seen = await environment.reset(seed=seed, task_name="search-engine")
            if "1st" in seen.goal:
                break
        await act(environment, f"fill('15', {seen.goal.split(chr(34))[1]!r})", "click('16')")
        bid = await script(environment, "return document.querySelector('.search-title').getAttribute('bid')")
        seen = await act(environment, f"click({bid!r})")
        assert seen.url.endswith("#")
        assert (seen.reward, seen.success) == (1.0, True)

    run(main())


def test_messages_are_kept(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        seen = await act(environment, "send_msg_to_user('hello')")
        assert (seen.done, seen.reward) == (False, 0.0)
        assert environment.state.messages == ["hello"]
        await environment.reset(seed=1)
        assert environment.state.messages == []

    run(main())


# Actions that BrowserGym does not have, and errors that name their cause


def test_words_scroll(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        await environment.reset(seed=1, task_name="scroll-text")
        where = "return document.getElementById('text-area').scrollTop"
        await act(environment, "hover('13')", "scroll('down')", "noop(300)")
        down: Any = await script(environment, where)
        assert down > 0
        await act(environment, "scroll('up')", "noop(300)")
        assert await script(environment, where) == 0
        assert "scroll knows" in (await act(environment, "scroll('sideways')")).error

    run(main())


def test_keys_are_sent(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        seen = await environment.reset(seed=1, task_name="enter-text")
        wanted = seen.goal.split('"')[1]
        await act(environment, "focus('14')", f"send_keys({wanted!r})", "send_keys('Tab')")
        assert (await act(environment, "send_keys('Enter')")).reward == 1.0

    run(main())


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        ("button.style.display = 'none'", "is hidden"),
        ("button.style.visibility = 'hidden'", "is hidden"),
        ("button.disabled = true", "is disabled"),
        (
            "button.animate([{ marginLeft: '0px' }, { marginLeft: '90px' }], { duration: 900, iterations: Infinity })",
            "is moving",
        ),
        (
            "const lid = document.createElement('div'); lid.id = 'lid';"
            "lid.style = 'position:fixed;inset:0;z-index:9999'; document.body.append(lid)",
            "is covered by <div",
        ),
    ],
)
def test_an_error_names_what_stands_in_the_way(
    run: Run, environment: BrowserGymEnvironment, page: str, cause: str
) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        rest = "await new Promise((resolve) => setTimeout(resolve, 200))"
        await script(environment, f"const button = document.getElementById('subbtn'); {page}; {rest}")
        seen = await act(environment, "click('13')")
        assert seen.error.startswith("TimeoutError: Locator.click: Timeout 500ms exceeded.")
        assert f"Element 13 {cause}" in seen.error
        assert (seen.last_action_error, seen.done, seen.reward) == (True, False, 0.0)

    run(main())


def test_actions_of_one_step_have_a_limit(run: Run) -> None:
    async def main() -> None:
        environment = await _with(replace(BrowserGymSettings(), timeout_ms=1000))
        try:
            seen = await act(environment, "noop(700) noop(700) click('13')")
            assert seen.error.startswith("TimeoutError: the actions of one step may take 1000 ms")
            assert (seen.reward, seen.done) == (0.0, False)
            assert (await act(environment, "click('13')")).reward == 1.0
        finally:
            await environment.close()

    run(main())


# What pages cannot do


@pytest.mark.parametrize(
    "body",
    [
        "setTimeout(() => alert(1), 5)",
        "let left = 5; const timer = setInterval(() => { alert(1); if (--left === 0) clearInterval(timer) }, 20)",
        "setTimeout(() => { window.answers = [confirm('a'), prompt('b')] }, 5)",
        "window.onbeforeunload = (event) => { event.preventDefault(); return 'stay' }",
        "setTimeout(() => print(), 5)",
        "Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0)",
        "const a = document.createElement('a'); a.download = 'x.txt';"
        "a.href = URL.createObjectURL(new Blob(['x'])); document.body.append(a); a.click()",
    ],
    ids=["alert", "alerts", "questions", "beforeunload", "print", "permissions", "download"],
)
def test_a_page_cannot_hold_the_session_up(run: Run, environment: BrowserGymEnvironment, body: str) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        await script(environment, body)
        assert (await act(environment, "hover('13')", "click('13')")).reward == 1.0
        await environment.reset(seed=2)
        assert (await act(environment, "click('13')")).reward == 1.0

    run(main())


def test_pop_ups_end_the_episode_and_are_few(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        await script(environment, "setInterval(() => window.open('about:blank'), 5); setTimeout(() => close(), 1500)")
        seen = await act(environment, "noop(400)")
        assert "another tab" in seen.end_reason
        assert environment._workspace is not None
        assert len(environment._workspace.pages) <= 8
        await environment.reset(seed=1)
        assert (await act(environment, "click('13')")).reward == 1.0

    run(main())


def test_nothing_stored_reaches_the_next_episode(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        for store in ("localStorage.a = 1", "sessionStorage.a = 1", "document.cookie = 'a=1'", "window.name = 'a'"):
            await environment.reset(seed=1)
            await script(environment, store)
            await environment.reset(seed=1)
            read = "return [localStorage.length, sessionStorage.length, document.cookie, window.name, history.length]"
            assert await script(environment, read) == [0, 0, "", "", 1], store

    run(main())


def test_sessions_do_not_share_a_clipboard(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        other = await _with(BrowserGymSettings())
        # Per session: the seed, and the ids of the field to copy from and of the one to paste into.
        sessions = [(environment, 0, "14", "15"), (other, 7, "15", "14")]
        try:
            for session, seed, source, _ in sessions:
                await session.reset(seed=seed, task_name="copy-paste")
                await act(session, f"click('{source}')\nsend_keys('Control+a')\nsend_keys('Control+c')")
            for session, _, _, target in sessions:
                seen = await act(session, f"click('{target}')\nsend_keys('Control+v')\nclick('16')")
                assert (seen.reward, seen.success) == (1.0, True)
        finally:
            await other.close()

    run(main())


def test_making_and_closing_costs_no_browser() -> None:
    async def main() -> None:
        environment = BrowserGymEnvironment(BrowserGymSettings())
        assert environment.state.task_name == "click-test"
        assert environment.num_tasks("miniwob") == len(environment.list_tasks("miniwob")) == 125
        assert environment.get_task("miniwob", 0) == environment.get_task_range("miniwob", 0, 1)[0]
        await environment.close()
        await environment.close()

    asyncio.run(main())
