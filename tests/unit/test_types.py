import datetime
import io
import json
import math
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pillow
from pydantic import TypeAdapter, ValidationError

from openenv_core.types import Action, Image, Observation, State, StepResult, WireModel, encode_bytes


class Inner(WireModel):
    blob: bytes = b""


class Parcel(WireModel):
    blob: bytes = b""
    blobs: list[bytes] = []
    by_name: dict[str, bytes] = {}
    perhaps: bytes | None = None
    pair: tuple[bytes, int] = (b"", 0)
    inner: Inner = Inner()
    number: float = 0.0
    numbers: list[float] = []
    when: datetime.datetime | None = None


def there_and_back(model: WireModel) -> WireModel:
    return type(model).model_validate_json(model.model_dump_json())


@given(st.binary() | st.text().map(str.encode))
def test_bytes_cross_json_unharmed_wherever_they_are_typed(blob: bytes) -> None:
    parcel = Parcel(
        blob=blob, blobs=[blob, b""], by_name={"a": blob}, perhaps=blob, pair=(blob, 1), inner=Inner(blob=blob)
    )
    assert there_and_back(parcel) == parcel


@given(st.text())
def test_bytes_that_are_text_travel_as_the_text_that_they_are(text: str) -> None:
    sent = json.loads(Parcel(blob=text.encode()).model_dump_json())["blob"]
    assert sent == text or text.startswith("data:;base64,")


def test_other_bytes_travel_as_a_data_uri() -> None:
    assert encode_bytes(b"\xff\x00") == "data:;base64,/wA="
    assert json.loads(Parcel(blob=b"\xff\x00").model_dump_json())["blob"] == "data:;base64,/wA="


def test_text_that_looks_like_a_data_uri_is_not_mistaken_for_one() -> None:
    odd = Parcel(blob=b"data:;base64,not really")
    assert there_and_back(odd) == odd


def test_a_broken_data_uri_is_refused_with_a_reason() -> None:
    with pytest.raises(ValidationError, match="not a valid base64 data URI"):
        Parcel.model_validate_json('{"blob": "data:;base64,!!"}')


@given(st.floats(allow_nan=False))
def test_infinities_cross_json(number: float) -> None:
    parcel = Parcel(number=number, numbers=[number, 1.5])
    assert there_and_back(parcel) == parcel


def test_nan_crosses_json() -> None:
    back = there_and_back(Parcel(number=math.nan))
    assert isinstance(back, Parcel)
    assert math.isnan(back.number)


@given(st.datetimes(timezones=st.none() | st.just(datetime.UTC)))
def test_moments_cross_json(when: datetime.datetime) -> None:
    assert there_and_back(Parcel(when=when)) == Parcel(when=when)


@pytest.mark.parametrize("cls", [Action, Observation])
def test_an_unknown_field_is_refused_by_name(cls: type[WireModel]) -> None:
    with pytest.raises(ValidationError, match="mesage"):
        cls.model_validate({"mesage": "hi"})


def test_an_assignment_is_checked() -> None:
    observation = Observation()
    with pytest.raises(ValidationError, match="done"):
        observation.done = "perhaps"  # type: ignore[assignment]


def test_a_state_may_tell_more_than_its_class_says() -> None:
    state = State.model_validate({"episode_id": "e", "step_count": 3, "level": 7})
    assert State.model_validate_json(state.model_dump_json()) == state
    assert state.model_extra == {"level": 7}
    with pytest.raises(ValidationError, match="step_count"):
        State(step_count=-1)


def test_an_integer_reward_stays_one() -> None:
    assert type(Observation(reward=1).reward) is int
    assert type(Observation(reward=1.0).reward) is float


@pytest.mark.parametrize(
    ("done", "truncated", "terminated"),
    [(False, False, False), (True, False, True), (True, True, False)],
)
def test_a_result_tells_the_task_s_end_from_a_cut(done: bool, truncated: bool, terminated: bool) -> None:
    result = StepResult(Observation(), 1.0, done, truncated)
    assert result.terminated is terminated
    assert result.done == (result.terminated or result.truncated)


GRADIENT = numpy.arange(4 * 6 * 3, dtype=numpy.uint8).reshape(4, 6, 3)


class Shown(Observation):
    picture: Image | None = None


def test_a_picture_is_the_same_pixels_on_the_other_side() -> None:
    shown = Shown(picture=Image.from_array(GRADIENT))
    back = Shown.model_validate_json(shown.model_dump_json())
    assert back == shown
    assert back.picture is not None
    assert back.picture.size == (6, 4)
    assert numpy.array_equal(numpy.asarray(back.picture), GRADIENT)
    assert repr(back.picture).startswith("Image(6x4, ")


def test_a_picture_is_read_from_whatever_it_comes_as() -> None:
    picture = Image.from_array(GRADIENT)
    reader = TypeAdapter(Image)
    lists = GRADIENT.tolist()
    for form in (picture, picture.png, GRADIENT, lists):
        assert numpy.array_equal(numpy.asarray(reader.validate_python(form)), GRADIENT)
    assert picture.tolist() == lists


def test_grey_and_transparent_pictures_become_colours() -> None:
    assert numpy.asarray(Image.from_array(GRADIENT[:, :, 0])).shape == (4, 6, 3)
    assert numpy.asarray(Image.from_array(numpy.full((4, 6, 4), 255, numpy.uint8))).shape == (4, 6, 3)
    buffer = io.BytesIO()
    pillow.new("P", (2, 2)).save(buffer, format="PNG")
    assert numpy.asarray(Image(buffer.getvalue())).shape == (2, 2, 3)


@pytest.mark.parametrize("value", [b"GIF89a", "%%%", "aGVsbG8="])
def test_what_is_no_picture_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match=r"not a PNG|not base64"):
        Shown.model_validate({"picture": value})


def test_pictures_are_equal_and_hash_by_their_bytes() -> None:
    one, same, other = Image.from_array(GRADIENT), Image.from_array(GRADIENT), Image.from_array(GRADIENT + 1)
    assert {one, same, other} == {one, other}
    assert one != "picture"


def test_the_schema_of_a_picture_says_what_it_is() -> None:
    schema = TypeAdapter(Image).json_schema(mode="serialization")
    assert schema == {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}
