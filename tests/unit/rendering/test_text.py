"""Text of strangers, made fit for a terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from openenv_core.rendering.text import MAX_LINES, shortened, visible


@given(st.text())
def test_nothing_that_is_shown_can_steer_a_terminal(text: str) -> None:
    shown = visible(text).replace("\n", "").replace("\t", "").replace("\u200d", "")
    assert {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_what_would_steer_is_written_out() -> None:
    assert visible("\x1b[2Jred\x07\u202eevil\x9b1m\r\nnext\rline\ttab") == (
        "\\x1b[2Jred\\x07\\u202eevil\\x9b1m\nnext\\rline\ttab"
    )


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5), min_size=1, max_size=200))
def test_a_long_text_keeps_its_end(lines: list[str]) -> None:
    shown = shortened("\n".join(lines)).split("\n")
    assert shown[-1] == lines[-1]
    assert len(shown) <= MAX_LINES + 1
    if len(lines) > MAX_LINES:
        assert f"{len(lines) - MAX_LINES} lines" in shown[0]


def test_a_long_line_is_cut_and_says_so() -> None:
    assert shortened("a" * 1007) == "a" * 1000 + "… (7 characters more)"
