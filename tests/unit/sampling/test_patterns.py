"""Texts that match a regular expression."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import UnsupportedOperationError
from openenv_core.sampling import matching_text

seeds = st.integers(0, 2**32)

PATTERNS = [
    r"^[a-z]+$",
    r"\d{3}-\d{2,4}",
    r"(foo|ba[rz])?x*",
    r"[^\sa-z]{5}",
    r"\w+@\w+\.(?:com|org)",
    r"(?P<year>\d{4})-[01]\d",
    r"a{2}b{1,}?c+?",
    r"[-+]?[0-9]+(\.[0-9]+)?",
    r"[\]\-x]",
    r"\S\D\W.",
    r"\n\t\\",
    r"a{b",
    r"",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=seeds)
def test_a_text_matches_its_pattern(pattern: str, seed: int) -> None:
    assert re.fullmatch(pattern, matching_text(pattern, Random(seed)))


BEYOND = [r"(?!a)b", r"(?<=a)b", r"\bword", r"(a", r"a)", r"[a", r"*a", r"a{x}", r"\1", "\\"]


@pytest.mark.parametrize("pattern", BEYOND)
def test_a_pattern_beyond_the_plain_kind_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedOperationError, match="no text can be made"):
        matching_text(pattern, Random(1))


def test_named_groups_of_other_dialects_are_read() -> None:
    assert re.fullmatch(r"\d\d", matching_text(r"(?<hour>\d\d)", Random(1)))
