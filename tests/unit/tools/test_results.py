import base64
import json
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from openenv_core.tools.results import text_block, tool_result
from openenv_core.types import Image

PICTURE = Image.from_array(numpy.zeros((2, 3, 3), numpy.uint8))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Point(BaseModel):
    x: int = 1


@given(JSON.filter(lambda value: value is not None))
def test_a_value_is_told_to_a_model_to_a_program_and_as_it_is(value: Any) -> None:
    result = tool_result(value)
    assert result.data == value
    text = result.content[0]["text"]
    assert text == value if isinstance(value, str) else json.loads(text) == value
    if isinstance(value, dict):
        assert (result.structured_content, result.meta) == (value, None)
    else:
        assert result.structured_content == {"result": value}
        assert result.meta == {"fastmcp": {"wrap_result": True}}
    assert not result.is_error


def test_nothing_is_no_block() -> None:
    assert tool_result(None).model_dump() == {
        "content": [],
        "structured_content": None,
        "meta": None,
        "data": None,
        "is_error": False,
    }


def test_models_and_arrays_have_a_json_form() -> None:
    assert tool_result(Point()).data == {"x": 1}
    assert tool_result([Point(), Point(x=2)]).data == [{"x": 1}, {"x": 2}]
    assert tool_result(numpy.arange(3)).data == [0, 1, 2]
    assert tool_result({"a": numpy.float64(0.5)}).data == {"a": 0.5}


def test_a_picture_is_a_block_for_the_model_alone() -> None:
    result = tool_result(["before", PICTURE, 7])
    assert [block["type"] for block in result.content] == ["text", "image", "text"]
    assert base64.b64decode(result.content[1]["data"]) == PICTURE.png
    assert result.content[1]["mimeType"] == "image/png"
    assert result.content[2]["text"] == "7"
    assert (result.structured_content, result.data) == (None, None)
    assert tool_result(PICTURE).content[0]["type"] == "image"


def test_what_has_no_json_form_is_an_error() -> None:
    with pytest.raises(ValueError, match="object has no JSON form"):
        tool_result({"a": object()})
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="Circular"):
        tool_result(endless)


def test_infinities_are_words() -> None:
    assert tool_result(float("inf")).data == "Infinity"


def test_a_block_has_the_keys_of_the_public_protocol() -> None:
    assert text_block("a") == {"type": "text", "text": "a", "annotations": None, "meta": None}
