"""The actions by name. Calling one checks its arguments as Python does, and gives what is to be done.

Names, parameters and defaults are BrowserGym's; ``send_keys`` and the words that ``scroll`` takes are from programs
written for the public environment.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from browsergym_env_server.hands import Hands
from browsergym_env_server.language import ACTIONS, ActionError, Call, parse

__all__ = ["Command", "calls_of", "command_of"]

Command = Callable[[Hands], Awaitable[None]]
"""What is to be done, once there are hands to do it."""


def noop(wait_ms: Any = 1000) -> Command:
    return lambda hands: hands.noop(wait_ms)


def send_msg_to_user(text: Any) -> Command:
    async def do(hands: Hands) -> None:
        hands.say(text)

    return do


def report_infeasible(reason: Any) -> Command:
    async def do(hands: Hands) -> None:
        hands.give_up(reason)

    return do


def click(bid: Any, button: Any = "left", modifiers: Any = None) -> Command:
    return lambda hands: hands.click(bid, button, modifiers)


def dblclick(bid: Any, button: Any = "left", modifiers: Any = None) -> Command:
    return lambda hands: hands.click(bid, button, modifiers, times=2)


def hover(bid: Any) -> Command:
    return lambda hands: hands.hover(bid)


def fill(bid: Any, value: Any, enable_autocomplete_menu: Any = False) -> Command:
    return lambda hands: hands.fill(bid, value, enable_autocomplete_menu)


def clear(bid: Any) -> Command:
    return lambda hands: hands.clear(bid)


def press(bid: Any, key_comb: Any) -> Command:
    return lambda hands: hands.press(bid, key_comb)


def focus(bid: Any) -> Command:
    return lambda hands: hands.focus(bid)


def select_option(bid: Any, options: Any) -> Command:
    return lambda hands: hands.select_option(bid, options)


def drag_and_drop(from_bid: Any, to_bid: Any) -> Command:
    return lambda hands: hands.drag_and_drop(from_bid, to_bid)


_MISSING: Final = object()


def scroll(delta_x: Any, delta_y: Any = _MISSING) -> Command:
    if delta_y is not _MISSING:
        return lambda hands: hands.scroll(delta_x, delta_y)
    if isinstance(delta_x, str):
        return lambda hands: hands.scroll_by_word(delta_x)
    raise TypeError("scroll() missing 1 required positional argument: 'delta_y'")


def scroll_at(x: Any, y: Any, dx: Any, dy: Any) -> Command:
    return lambda hands: hands.scroll_at(x, y, dx, dy)


def mouse_move(x: Any, y: Any) -> Command:
    return lambda hands: hands.mouse_move(x, y)


def mouse_down(x: Any, y: Any, button: Any = "left") -> Command:
    return lambda hands: hands.mouse_down(x, y, button)


def mouse_up(x: Any, y: Any, button: Any = "left") -> Command:
    return lambda hands: hands.mouse_up(x, y, button)


def mouse_click(x: Any, y: Any, button: Any = "left") -> Command:
    return lambda hands: hands.mouse_click(x, y, button)


def mouse_dblclick(x: Any, y: Any, button: Any = "left") -> Command:
    return lambda hands: hands.mouse_click(x, y, button, times=2)


def mouse_drag_and_drop(from_x: Any, from_y: Any, to_x: Any, to_y: Any) -> Command:
    return lambda hands: hands.mouse_drag_and_drop(from_x, from_y, to_x, to_y)


def keyboard_down(key: Any) -> Command:
    return lambda hands: hands.keyboard_down(key)


def keyboard_up(key: Any) -> Command:
    return lambda hands: hands.keyboard_up(key)


def keyboard_press(key: Any) -> Command:
    return lambda hands: hands.keyboard_press(key)


def keyboard_type(text: Any) -> Command:
    return lambda hands: hands.keyboard_type(text)


def keyboard_insert_text(text: Any) -> Command:
    return lambda hands: hands.keyboard_insert_text(text)


def send_keys(keys: Any) -> Command:
    return lambda hands: hands.send_keys(keys)


def goto(url: Any) -> Command:
    return lambda hands: hands.goto(url)


def go_back() -> Command:
    return lambda hands: hands.go_back()


def go_forward() -> Command:
    return lambda hands: hands.go_forward()


def new_tab() -> Command:
    return lambda hands: hands.new_tab()


def tab_close() -> Command:
    return lambda hands: hands.tab_close()


def tab_focus(index: Any) -> Command:
    return lambda hands: hands.tab_focus(index)


_BY_NAME: Final[dict[str, Callable[..., Command]]] = {name: globals()[name] for name in ACTIONS}


def calls_of(text: str, offered: frozenset[str], *, several: bool) -> list[Call]:
    """The calls in an action's text.

    Args:
        offered: the actions that may be used.
        several: more than one call is allowed.

    Raises:
        ActionError: the text holds no call, one of an action that is not offered, or too many; nothing is to be done.
    """
    calls = parse(text)
    if not calls:
        raise ActionError("ValueError", "Received an empty action.")
    if len(calls) > 1 and not several:
        raise ActionError("ValueError", "Received a multi-action, only single-actions are allowed.")
    for call in calls:
        if call.name not in offered:
            raise ActionError("NameError", f"Invalid action type '{call.name}'.")
    return calls


def command_of(call: Call) -> Command:
    """What a call asks for.

    Raises:
        ActionError: its arguments do not fit the action; the text is Python's own.
    """
    try:
        return _BY_NAME[call.name](*call.arguments, **call.named)
    except TypeError as error:
        raise ActionError("TypeError", str(error)) from None
