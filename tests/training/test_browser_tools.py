"""A browser as tools, on its server with a real Chromium."""

import re
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from PIL import Image as Pillow

from browsergym_env import BrowserGymAction, BrowserGymEnv
from browsergym_env.tools import (
    BrowserTextTools,
    BrowserTools,
    browser_invalid_reward,
    browser_reward,
    browser_speed_reward,
)
from openenv_core.errors import ConfigurationError
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import ToolCallError, environment_factory, tool_names, tool_problems, tool_schemas
from openenv_core.training.checks import check_template


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """A server of the browser environment."""
    with ProcessRuntime("browsergym_env_server:spec") as runtime:
        yield runtime.base_url


def element(page: str, role: str, name: str = "") -> str:
    """The id of an element that a page shows."""
    found = re.search(rf"\[(\w+)\] {role} '{re.escape(name)}", page)
    assert found is not None, page
    return found[1]


def text_of(shown: Any) -> str:
    """The text of content blocks."""
    return "".join(block["text"] for block in shown if block["type"] == "text")


def test_a_model_is_shown_these_tools() -> None:
    names = ["click", "fill", "noop", "scroll", "select_option", "send_keys"]
    assert tool_names(BrowserTextTools) == names
    assert tool_names(BrowserTools) == sorted([*names, "click_at"])
    assert tool_problems(BrowserTools) == []
    scroll = next(tool["function"] for tool in tool_schemas(BrowserTextTools) if tool["function"]["name"] == "scroll")
    assert scroll["parameters"]["properties"]["direction"]["enum"] == ["up", "down", "left", "right"]


def test_a_form_is_filled_by_what_the_page_shows(base_url: str) -> None:
    tools = BrowserTextTools(base_url, task_name="login-user")
    page = str(tools.reset(seed=7))
    assert page == str(tools.reset(seed=7)), "a seed is a page"
    assert page.startswith("\n\nGoal: Enter the username")
    name, word = re.findall(r'"([^"]*)"', page.partition("Page:")[0])
    first, second = re.findall(r"\[(\d+)\] textbox", page)
    assert name in str(tools.fill(f"[{first}]", name))
    page = str(tools.fill(second, word))
    assert tools.click(element(page, "button")) == "The task is done."
    assert (tools.done, tools.success, tools.reward) == (True, True, 1.0)
    assert browser_reward(environments=[tools]) == [1.0]
    assert browser_speed_reward(environments=[tools]) == [0.7]
    assert browser_invalid_reward(environments=[tools]) == [0.0]
    with pytest.raises(ToolCallError, match="over"):
        tools.noop()
    tools._close()


def test_quotes_in_what_a_model_writes_stay_text(base_url: str) -> None:
    tools = BrowserTextTools(base_url, task_name="enter-text")
    page = str(tools.reset(seed=1))
    told = str(tools.fill(element(page, "textbox"), 'it\'s "so" \\ n'))
    assert "Error" not in told
    assert 'it\\\'s "so" \\\\ n' in told or "it's" in told
    tools._close()


def test_a_failed_action_is_told_and_counted(base_url: str) -> None:
    tools = BrowserTextTools(base_url, task_name="click-test", max_steps=2)
    tools.reset(seed=0)
    assert 'Error: ValueError: Could not find element with bid "999"' in str(tools.click("999"))
    assert not tools.done
    assert "over" in str(tools.scroll("down"))
    assert (tools.done, tools.episode.truncated, tools.success) == (True, True, False)
    assert browser_reward(environments=[tools]) == browser_speed_reward(environments=[tools]) == [0.0]
    assert browser_invalid_reward(environments=[tools]) == [pytest.approx(-0.1 * tools.episode.invalid_actions)]
    assert tools.episode.invalid_actions >= 1
    tools._close()


def test_a_row_names_its_task(base_url: str) -> None:
    tools = BrowserTextTools(base_url, task_name="click-test", longest_page=60)
    assert "Click the button." in str(tools.reset(seed=0, prompt=[]))
    page = str(tools.reset(seed=0, task_name="choose-list", prompt=[]))
    assert "(the rest of the page is cut off)" in page
    assert tools.episode.options == {"seed": 0, "task_name": "choose-list", "observe": ["axtree"], "max_steps": 10}
    with pytest.raises(ConfigurationError, match="click-tst"):
        tools.reset(seed=0, task_name="click-tst")
    tools._close()


def test_options_of_a_list_and_keys(base_url: str) -> None:
    tools = BrowserTextTools(base_url, task_name="choose-list")
    page = str(tools.reset(seed=3))
    wanted = re.search(r"Select (.+) from the list", page)
    assert wanted is not None
    tools.select_option(element(page, "combobox"), wanted[1])
    assert tools.click(element(page, "button", "Submit")) == "The task is done."
    page = str(tools.reset(seed=1, task_name="enter-text"))
    tools.click(element(page, "textbox"))
    assert "hello" in str(tools.send_keys("hello"))
    tools._close()


def test_a_model_that_sees_is_shown_pictures(base_url: str) -> None:
    tools = BrowserTools(base_url, task_name="click-test", picture_size=0)
    first: Any = tools.reset(seed=0)
    assert [block["type"] for block in first] == ["text", "image", "text"]
    assert first[0]["text"] == "\n\n"
    assert first[1]["image"].size == (498, 321)
    assert "Goal: Click the button." in text_of(first)
    after: Any = tools.click(element(text_of(first), "button"))
    assert [block["type"] for block in after] == ["image", "text"]
    assert text_of(after) == "The task is done."
    tools._close()


def test_a_place_in_a_smaller_picture_is_the_same_place_of_the_page(base_url: str) -> None:
    tools = BrowserTools(base_url, task_name="click-test", picture_size=249)
    first: Any = tools.reset(seed=0)
    picture = first[1]["image"]
    assert picture.size == (249, 160)
    # The button is the one grey area in the white part of the page, below the yellow line with the goal.
    pixels = numpy.asarray(picture.convert("RGB")).astype(int)
    rows, columns = numpy.nonzero(abs(pixels - 239).max(axis=2) < 6)
    tools.click_at(float(numpy.median(columns)), float(numpy.median(rows)))
    assert tools.success
    tools._close()


def test_pictures_for_a_model_that_reads_only_are_refused_before_the_run(base_url: str) -> None:
    class Reader:
        """A tokenizer."""

        def apply_chat_template(self, messages: Any, **_: Any) -> str:
            """All of it."""
            return str(messages)

    with pytest.raises(ConfigurationError, match="BrowserTools shows pictures"):
        check_template(Reader(), {None: environment_factory(BrowserTools, base_url)})


class TextScript:
    """What TRL's public script for text models does with the client, call by call."""

    def __init__(self, base_url: str) -> None:
        self.client = BrowserGymEnv(base_url=base_url)
        self.done = False

    def reset(self, task_name: str) -> Any:
        self.client.connect()
        socket = self.client._ws
        assert socket is None, "the script raises a limit of it"
        result = self.client.reset(task_name=task_name)
        self.done = result.done
        return result.observation

    def act(self, action: str) -> Any:
        result = self.client.step(BrowserGymAction(action_str=action))
        self.done = result.done
        return result.observation, float(result.reward or 0.0)


def test_the_calls_of_the_public_scripts(base_url: str) -> None:
    script = TextScript(base_url)
    for _ in range(2):  # the script never closes, and resets where it is
        seen = script.reset("click-test")
        assert seen.goal == "Click the button."
        assert not script.done
        for action in ("noop()", "scroll('down')", "send_keys('Tab')", "click('nonsense')"):
            seen, reward = script.act(action)
            assert (script.done, reward) == (False, 0.0)
        assert seen.last_action_error
        assert seen.error
        # The script for vision models makes a Pillow picture of an array of the screenshot.
        picture = Pillow.fromarray(numpy.array(seen.screenshot, dtype=numpy.uint8))
        picture.thumbnail((512, 512), Pillow.Resampling.LANCZOS)
        assert picture.size == (498, 321)
        seen, reward = script.act(f"click({element(seen.axtree_txt, 'button')!r})")
        assert (script.done, reward) == (True, 1.0)
    script.client.close()
