import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from openenv_core.errors import ConfigurationError, InvalidJsonError
from openenv_core.settings import ServerSettings
from openenv_core.wire.nesting import MAX_NESTING, check_nesting, is_deeper

VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from(['"[[{', "\\", '\\"]', "}]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


@given(VALUES, st.integers(1, 6), st.booleans())
def test_the_depth_is_that_of_the_value(value: Any, limit: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert is_deeper(text, limit) is (depth(value) > limit)


@given(st.binary(max_size=200), st.integers(1, 5))
def test_anything_at_all_is_answered(noise: bytes, limit: int) -> None:
    assert is_deeper(noise, limit) in (True, False)


@pytest.mark.parametrize("limit", [1, 7, 100, MAX_NESTING])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_the_limit_itself_passes_and_one_more_does_not(limit: int, pair: str) -> None:
    inner = '{"a":' if pair == "{}" else "["
    legal = inner * (limit - 1) + pair + pair[1] * (limit - 1)
    check_nesting(legal, limit)
    check_nesting(legal.encode(), limit)
    with pytest.raises(InvalidJsonError, match=f"more than {limit} levels"):
        check_nesting(f"[{legal}]", limit)


def test_a_hundred_thousand_levels_are_refused() -> None:
    with pytest.raises(InvalidJsonError):
        check_nesting("[" * 100_000, 100)


def test_the_largest_limit_is_about_the_parser_s_own() -> None:
    assert ServerSettings.from_environ({"OPENENV_MAX_NESTING": str(MAX_NESTING)}).max_nesting == MAX_NESTING
    with pytest.raises(ConfigurationError):
        ServerSettings.from_environ({"OPENENV_MAX_NESTING": str(MAX_NESTING + 1)})
    from_json("[" * MAX_NESTING + "]" * MAX_NESTING)
    with pytest.raises(ValueError, match="recursion limit"):
        from_json("[" * (MAX_NESTING + 2) + "]" * (MAX_NESTING + 2))
