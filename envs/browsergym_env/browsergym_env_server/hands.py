"""What the actions do to a page."""

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from browsergym_env_server.language import ActionError
from browsergym_env_server.origins import Origin, is_allowed_address
from browsergym_env_server.pointer import Button, Pointer
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.workspace import Workspace

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

__all__ = ["Hands"]

PATIENCE_MS: Final = 500
"""An element that cannot take an action is waited for so long, as in BrowserGym."""

_BUTTONS: tuple[str, ...] = get_args(Button)
_MODIFIERS = ("Alt", "Control", "ControlOrMeta", "Meta", "Shift")
_ID = re.compile(r"[A-Za-z0-9]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f]")
_MESSAGES_KEPT = 100
_MESSAGE_LENGTH = 2000
_SCROLL_SHARE = 0.8
_SCROLL_WORDS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Hands:
    """Acts on the page in front. Failures of an action are an ``ActionError``; a browser that is gone is not.

    Args:
        workspace: the pages.
        settings: the scale of coordinates, and the limits.
        allowed: the origins that may be gone to.

    Attributes:
        messages: what the agent has said.
        infeasible: the agent has reported that the task cannot be done.
        travelled: an action named a page to go to, and the browser went.
        left_traces: a key or a button may still be down, or pages were opened: the next episode needs a new context.
    """

    def __init__(self, workspace: Workspace, settings: BrowserGymSettings, allowed: Sequence[Origin]) -> None:
        self._workspace = workspace
        self._settings = settings
        self._allowed = allowed
        self._pointer = Pointer(workspace)
        self.messages: list[str] = []
        self.infeasible = False
        self.travelled = False
        self.left_traces = False

    @property
    def _page(self) -> "Page":
        page = self._workspace.front
        if page is None:
            raise ActionError("Error", "no page is open")
        return page

    # Talking and waiting

    async def noop(self, wait_ms: Any) -> None:
        if not isinstance(wait_ms, int | float) or isinstance(wait_ms, bool):
            raise ActionError("Error", f"Page.wait_for_timeout: timeout: expected number, got {_type_name(wait_ms)}")
        await asyncio.sleep(max(0.0, wait_ms) / 1000)

    def say(self, text: Any) -> None:
        if not isinstance(text, str):
            raise ActionError("ValueError", f"Forbidden value: {text} is not a string")
        if len(self.messages) < _MESSAGES_KEPT:
            self.messages.append(text[:_MESSAGE_LENGTH])

    def give_up(self, reason: Any) -> None:
        self.say(reason)
        self.infeasible = True

    # By element

    async def click(self, bid: Any, button: Any, modifiers: Any, *, times: int = 1) -> None:
        verb = "Locator.click" if times == 1 else "Locator.dblclick"
        _check_choice(f"{verb}: button", button, _BUTTONS)
        held = [] if modifiers is None else list(modifiers)
        for index, modifier in enumerate(held):
            _check_choice(f"{verb}: modifiers[{index}]", modifier, _MODIFIERS)
        x, y = await self._reach(bid, verb)
        keyboard = self._page.keyboard
        for modifier in held:
            await keyboard.down(modifier)
        try:
            await self._pointer.click(x, y, button, times=times)
        finally:
            for modifier in reversed(held):
                await keyboard.up(modifier)

    async def hover(self, bid: Any) -> None:
        await self._pointer.move(*await self._reach(bid, "Locator.hover"))

    async def drag_and_drop(self, from_bid: Any, to_bid: Any) -> None:
        self.left_traces = True
        await self.hover(from_bid)
        await self._pointer.press()
        await self.hover(to_bid)
        await self._pointer.release()

    async def fill(self, bid: Any, value: Any, enable_autocomplete_menu: Any) -> None:
        if not isinstance(value, str):
            raise ActionError("Error", f"Locator.fill: value: expected string, got {_type_name(value)}")
        await self._ready("edit", bid, "Locator.fill")
        element = self._element(bid)
        if not enable_autocomplete_menu:
            await element.fill(value)
            return
        # The last character is typed, so that a field that watches the keys opens its menu.
        await element.fill(value[:-1])
        if value:
            await element.press_sequentially(value[-1])

    async def clear(self, bid: Any) -> None:
        await self._ready("edit", bid, "Locator.clear")
        await self._element(bid).clear()

    async def focus(self, bid: Any) -> None:
        await self._check_there(bid)
        await self._element(bid).focus()

    async def press(self, bid: Any, keys: Any) -> None:
        await self._check_there(bid)
        _check_text("Locator.press: key", keys)
        await self._element(bid).press(keys)

    async def select_option(self, bid: Any, options: Any) -> None:
        wanted = [options] if isinstance(options, str) else options
        if not isinstance(wanted, list) or not all(isinstance(option, str) for option in wanted):
            await self._check_there(bid)
            raise ActionError("Error", f"Locator.select_option: expected a string or a list of them, got {options!r}")
        await self._ready("choose", bid, "Locator.select_option", wanted)
        await self._element(bid).select_option(wanted)

    # By coordinates: pixels of the picture, from its upper left corner

    async def scroll(self, delta_x: Any, delta_y: Any) -> None:
        await self._pointer.wheel(self._css(delta_x), self._css(delta_y))

    async def scroll_by_word(self, direction: str) -> None:
        if direction not in _SCROLL_WORDS:
            raise ActionError("ValueError", f"scroll knows {', '.join(_SCROLL_WORDS)}, not {direction!r}")
        width, height = self._settings.viewport_width, self._settings.viewport_height
        if not self._pointer.is_placed:
            await self._pointer.move(width / 2, height / 2)
        right, down = _SCROLL_WORDS[direction]
        await self._pointer.wheel(right * _SCROLL_SHARE * width, down * _SCROLL_SHARE * height)

    async def scroll_at(self, x: Any, y: Any, dx: Any, dy: Any) -> None:
        await self.mouse_move(x, y)
        await self.scroll(dx, dy)

    async def mouse_move(self, x: Any, y: Any) -> None:
        await self._pointer.move(self._css(x), self._css(y))

    async def mouse_down(self, x: Any, y: Any, button: Any) -> None:
        self.left_traces = True
        _check_choice("Mouse.down: button", button, _BUTTONS)
        await self.mouse_move(x, y)
        await self._pointer.press(button)

    async def mouse_up(self, x: Any, y: Any, button: Any) -> None:
        _check_choice("Mouse.up: button", button, _BUTTONS)
        await self.mouse_move(x, y)
        await self._pointer.release(button)

    async def mouse_click(self, x: Any, y: Any, button: Any, *, times: int = 1) -> None:
        _check_choice("Mouse.click: button", button, _BUTTONS)
        await self._pointer.click(self._css(x), self._css(y), button, times=times)

    async def mouse_drag_and_drop(self, from_x: Any, from_y: Any, to_x: Any, to_y: Any) -> None:
        self.left_traces = True
        end = self._css(to_x), self._css(to_y)
        await self.mouse_move(from_x, from_y)
        await self._pointer.press()
        await self._pointer.move(*end)
        await self._pointer.release()

    # By keyboard

    async def keyboard_press(self, key: Any) -> None:
        _check_text("Keyboard.press: key", key)
        await self._page.keyboard.press(key)

    async def keyboard_down(self, key: Any) -> None:
        self.left_traces = True
        _check_text("Keyboard.down: key", key)
        await self._page.keyboard.down(key)

    async def keyboard_up(self, key: Any) -> None:
        _check_text("Keyboard.up: key", key)
        await self._page.keyboard.up(key)

    async def keyboard_type(self, text: Any) -> None:
        _check_text("Keyboard.type: text", text)
        await self._page.keyboard.type(text)

    async def keyboard_insert_text(self, text: Any) -> None:
        _check_text("Keyboard.insert_text: text", text)
        await self._page.keyboard.insert_text(text)

    async def send_keys(self, keys: Any) -> None:
        from playwright.async_api import Error

        _check_text("send_keys: keys", keys)
        try:
            await self._page.keyboard.press(keys)
        except Error as error:
            if "Unknown key" not in error.message:
                raise
            await self._page.keyboard.type(keys)

    # By page

    async def goto(self, url: Any) -> None:
        self.left_traces = True
        _check_text("Page.goto: url", url)
        page = self._page
        before = page.url
        # Browsers drop white space and control characters from addresses, so one could hide another scheme behind them.
        is_odd = _INVISIBLE.search(url) is not None
        if not is_odd and not _SCHEME.match(url):
            # In Playwright's words; it would complete some of these to addresses.
            raise ActionError("Error", "Page.goto: Protocol error (Page.navigate): Cannot navigate to invalid URL")
        if is_odd or not is_allowed_address(url, self._allowed):
            offered = ", ".join(str(origin) for origin in self._allowed)
            raise ActionError("ValueError", f"{url[:200]!r} may not be gone to; allowed are pages of {offered}")
        await page.goto(url, wait_until="load")
        self.travelled = self.travelled or page.url != before

    async def go_back(self) -> None:
        self.left_traces = True
        await self._page.go_back()

    async def go_forward(self) -> None:
        self.left_traces = True
        await self._page.go_forward()

    async def new_tab(self) -> None:
        self.left_traces = True
        await self._workspace.new_page()

    async def tab_close(self) -> None:
        self.left_traces = True
        await self._workspace.close_front()

    async def tab_focus(self, index: Any) -> None:
        try:
            await self._workspace.bring_to_front(index)
        except (IndexError, TypeError) as error:
            raise ActionError(type(error).__name__, str(error)) from None

    async def _reach(self, bid: Any, verb: str) -> tuple[float, float]:
        """The point of an element that the pointer can reach, in CSS pixels."""
        found = await self._ready("aim", bid, verb)
        return found["x"], found["y"]

    async def _ready(self, way: str, bid: Any, verb: str, *wanted: Any) -> dict[str, Any]:
        """Wait until an element can take an action; ``way`` is one of those in ``scripts/reach.js``."""
        tab = await self._workspace.tab()
        found: dict[str, Any] = await tab.call("ready", way, _checked_id(bid), PATIENCE_MS, *wanted)
        if "missing" in found:
            raise _not_found(bid)
        if "cause" in found:
            cause = f"Element {bid} {found['cause']}."
            raise ActionError("TimeoutError", f"{verb}: Timeout {PATIENCE_MS}ms exceeded.\n{cause}")
        return found

    async def _check_there(self, bid: Any) -> None:
        tab = await self._workspace.tab()
        if not await tab.call("isThere", _checked_id(bid)):
            raise _not_found(bid)

    def _element(self, bid: str) -> "Locator":
        # The first one: a copy of an element has its id too until the next look.
        return self._page.locator(f'[bid="{bid}"]').first

    def _css(self, pixels: Any) -> float:
        try:
            return cast("float", pixels / self._settings.screenshot_scale)
        except TypeError as error:
            raise ActionError("TypeError", str(error)) from None


def _checked_id(bid: Any) -> str:
    if not isinstance(bid, str):
        raise ActionError("ValueError", f"expected a string, got {bid!r}")
    if not _ID.fullmatch(bid):
        raise _not_found(bid)
    return bid


def _not_found(bid: str) -> ActionError:
    return ActionError("ValueError", f'Could not find element with bid "{bid}"')


def _check_choice(subject: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ActionError("Error", f"{subject}: expected one of ({'|'.join(known)})")


def _check_text(subject: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ActionError("Error", f"{subject}: expected string, got {_type_name(value)}")


def _type_name(value: Any) -> str:
    """The word for a value's type in Playwright's messages: JavaScript's."""
    names = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "undefined"}
    return names.get(type(value), "object")
