"""BrowserGym's action language: calls with literal arguments, found in whatever text is around them.

``I will click('13') now`` holds one call. Arguments are Python's literals for strings, numbers, lists, tuples,
dictionaries, ``True``, ``False`` and ``None``; names and operators are not part of the language, and nothing is
evaluated. What follows a ``#`` outside a string is a comment.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["ACTIONS", "LONGEST_TEXT", "ActionError", "Call", "parse"]

LONGEST_TEXT: Final = 20_000
"""Characters that an action may have."""

ACTIONS: Final = (
    *("noop", "send_msg_to_user", "report_infeasible"),
    *("click", "dblclick", "hover", "fill", "clear", "press", "focus", "select_option", "drag_and_drop"),
    *("scroll", "scroll_at", "mouse_move", "mouse_down", "mouse_up", "mouse_click", "mouse_dblclick"),
    *("mouse_drag_and_drop", "keyboard_down", "keyboard_up", "keyboard_press", "keyboard_type"),
    *("keyboard_insert_text", "send_keys", "goto", "go_back", "go_forward", "new_tab", "tab_close", "tab_focus"),
)
"""The names that can be called."""

_DEEPEST = 20
_STRING = r"(?:[rR]?(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"))"
_LONG_STRING = r"(?:[rR]?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"))"
_TOKEN = re.compile(
    rf"(?P<string>{_LONG_STRING}|{_STRING})"
    r"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>[()\[\]{},:=])",
    re.DOTALL,
)
_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_START = re.compile(r"#[^\n]*|(?P<name>[^\W\d]\w*)(?P<space>(?:\s|#[^\n]*)*)\(")
_CONSTANTS: Final[dict[str, Any]] = {"True": True, "False": False, "None": None}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-7]{1,3}|.)", re.DOTALL)
_SIMPLE_ESCAPES = dict(
    zip("\\'\"abfnrtv\n", ["\\", "'", '"', "\a", "\b", "\f", "\n", "\r", "\t", "\v", ""], strict=True)
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class ActionError(Exception):
    """An action that could not be done. Its text is what the agent is told, the kind of error before a colon."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")


@dataclass(frozen=True)
class Call:
    """One call: the name of an action, and its arguments."""

    name: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)


def parse(text: str) -> list[Call]:
    """The calls in a text, in their order; none where it holds none.

    Raises:
        ActionError: the text is longer than :data:`LONGEST_TEXT`.
    """
    if len(text) > LONGEST_TEXT:
        raise ActionError("ValueError", f"the action has {len(text)} characters; at most {LONGEST_TEXT} are read")
    return list(_calls(text))


def _calls(text: str) -> Iterator[Call]:
    position = 0
    while (start := _START.search(text, position)) is not None:
        position = start.end()
        if start["name"] is None:
            continue
        reader = _Reader(text, position)
        try:
            arguments, named = reader.arguments()
        except _NotALiteralError:
            # Not a call of this language; there may be one inside it.
            continue
        position = reader.position
        yield Call(start["name"], arguments, named)


class _NotALiteralError(Exception):
    """What stands there is no literal argument."""


class _Reader:
    """Reads literals from a place in a text on."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What stands between a call's parentheses, the closing one included."""
        arguments: list[Any] = []
        named: dict[str, Any] = {}
        while True:
            kind, token = self._next()
            if token == ")" and kind == "sign":
                return tuple(arguments), named
            if kind == "name" and token not in _CONSTANTS:
                if self._next() != ("sign", "="):
                    raise _NotALiteralError
                named[token] = self._value(*self._next(), depth=0)
            elif named:
                raise _NotALiteralError
            else:
                arguments.append(self._value(kind, token, depth=0))
            if self._separator(")"):
                return tuple(arguments), named

    def _next(self) -> tuple[str, str]:
        space = _SPACE.match(self.text, self.position)
        assert space is not None
        found = _TOKEN.match(self.text, space.end())
        if found is None:
            raise _NotALiteralError
        self.position = found.end()
        return str(found.lastgroup), found.group()

    def _separator(self, closing: str) -> bool:
        """Read a comma, or what closes the list; returns whether it was the latter."""
        token = self._next()
        if token == ("sign", closing):
            return True
        if token != ("sign", ","):
            raise _NotALiteralError
        return False

    def _value(self, kind: str, token: str, *, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _NotALiteralError
        if kind == "name" and token in _CONSTANTS:
            return _CONSTANTS[token]
        if kind == "number":
            return _number(token)
        if kind == "string":
            return _string(token)
        if token == "{":
            return self._dictionary(depth + 1)
        if token in _CLOSING:
            values = self._values(_CLOSING[token], depth + 1)
            return values if token == "[" else tuple(values)
        raise _NotALiteralError

    def _values(self, closing: str, depth: int) -> list[Any]:
        values: list[Any] = []
        while True:
            kind, token = self._next()
            if (kind, token) == ("sign", closing):
                return values
            values.append(self._value(kind, token, depth=depth))
            if self._separator(closing):
                return values

    def _dictionary(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while True:
            kind, token = self._next()
            if (kind, token) == ("sign", "}"):
                return values
            if kind != "string" or self._next() != ("sign", ":"):
                raise _NotALiteralError
            values[_string(token)] = self._value(*self._next(), depth=depth)
            if self._separator("}"):
                return values


def _number(token: str) -> int | float:
    try:
        return int(token)
    except ValueError:
        return float(token)


def _string(token: str) -> str:
    """A string literal's value, its escapes read as Python reads them."""
    is_raw = token[0] in "rR"
    quoted = token[1:] if is_raw else token
    width = 3 if quoted.startswith(('"""', "'''")) else 1
    inner = quoted[width:-width]
    return inner if is_raw else _ESCAPE.sub(_unescape, inner)


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if code in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[code]
    try:
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code.startswith("N{"):
            return unicodedata.lookup(code[2:-1])
        if code[0] in "01234567":
            return chr(int(code, 8))
    except (ValueError, KeyError):
        raise _NotALiteralError from None
    if code in ("x", "u", "U", "N"):
        raise _NotALiteralError
    return found[0]
