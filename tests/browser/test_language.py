"""The action language: what is a call, what is not, and that nothing else gets through."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browsergym_env_server.actions import calls_of, command_of
from browsergym_env_server.language import ACTIONS, LONGEST_TEXT, ActionError, Call, parse

_texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
_numbers = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
_scalars = _texts | _numbers | st.booleans() | st.none()
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)


@given(_names, st.lists(_values, max_size=4), st.dictionaries(_names, _values, max_size=3))
def test_what_python_writes_is_read(name: str, arguments: list[object], named: dict[str, object]) -> None:
    written = [repr(value) for value in arguments] + [f"{key}={value!r}" for key, value in named.items()]
    assert parse(f"{name}({', '.join(written)})") == [Call(name, tuple(arguments), named)]


@given(st.text(alphabet=string.printable, max_size=60))
def test_any_text_is_read_without_harm(text: str) -> None:
    for call in parse(text):
        assert call.name.isidentifier()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I will click('13') now", ["click"]),
        ("x.click('13')", ["click"]),
        ("```\nclick('13')\n```", ["click"]),
        ("click ('13')", ["click"]),
        ("noop(0)\nclick('13')\nnoop(0)", ["noop", "click", "noop"]),
        ("noop(0) garbage noop(0)", ["noop", "noop"]),
        ("fill('14', 'press(1)')", ["fill"]),
        ("first(second('1'))", ["second"]),
        ("click('13',  # the button\n)", ["click"]),
        ("click('#13')", ["click"]),
    ],
)
def test_calls_are_found_in_the_text_around_them(text: str, names: list[str]) -> None:
    assert [call.name for call in parse(text)] == names


@pytest.mark.parametrize(
    "text",
    [
        *("", "hello", "import os", "click(", "click 13", "click[13]", "click(13x)", "click(x)", "noop(1+1)"),
        *("# click('13')", "click('13' '13')", "click(\"13'", "click(b=1, 'c')", "noop(1j)", "noop(b'x')", "f(f'{1}')"),
        *("noop(...)", "f(*[1])", "f(**{})", "f({1: 2})", "f(lambda: 1)", "f([x for x in []])", "f(" + "[" * 500),
    ],
)
def test_what_is_no_literal_is_no_call(text: str) -> None:
    assert parse(text) == []


def test_a_text_without_end_is_not_read() -> None:
    with pytest.raises(ActionError, match="at most"):
        parse("click('" + "1" * LONGEST_TEXT + "')")


def test_only_actions_on_offer_may_be_called() -> None:
    offered = frozenset({"click", "noop"})
    assert [call.name for call in calls_of("click('1') noop(0)", offered, several=True)] == ["click", "noop"]
    with pytest.raises(ActionError, match=r"^NameError: Invalid action type '__import__'\.$"):
        calls_of("click('1') __import__('os')", offered, several=True)
    with pytest.raises(ActionError, match=r"^ValueError: Received a multi-action"):
        calls_of("click('1') noop(0)", offered, several=False)
    with pytest.raises(ActionError, match=r"^ValueError: Received an empty action\.$"):
        calls_of("click", offered, several=True)


@pytest.mark.parametrize("name", ACTIONS)
def test_arguments_are_checked_as_python_checks_them(name: str) -> None:
    with pytest.raises(ActionError, match=rf"^TypeError: {name}\(\)"):
        command_of(Call(name, (), {"no_such_argument": 1}))
    with pytest.raises(ActionError, match=rf"^TypeError: {name}\(\)"):
        command_of(Call(name, (1, 2, 3, 4, 5)))
