import json
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError, field_validator

from openenv_core import errors
from openenv_core.errors import (
    EnvironmentFailedError,
    LossReason,
    OpenEnvError,
    SessionLostError,
    UnknownResetOptionError,
    ValidationFailedError,
    error_from_wire,
    jsonable,
    jsonable_problems,
)

V1_CODES = {
    "INVALID_JSON",
    "UNKNOWN_TYPE",
    "VALIDATION_ERROR",
    "EXECUTION_ERROR",
    "CAPACITY_REACHED",
    "FACTORY_ERROR",
    "SESSION_ERROR",
}
"""All that the public protocol knows."""


def all_errors() -> list[type[OpenEnvError]]:
    found = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, OpenEnvError)]


@pytest.mark.parametrize("cls", all_errors())
def test_every_error_crosses_the_wire_as_the_same_class(cls: type[OpenEnvError]) -> None:
    error = cls("what happened", limit=3)
    back = error_from_wire(error.code, error.message, error.details)
    # A subclass without a code of its own travels as its parent.
    assert isinstance(error, type(back))
    assert (back.code, back.message, back.details) == (error.code, "what happened", error.details)
    assert type(back) is cls or cls.code == cls.__base__.code  # type: ignore[union-attr]


@pytest.mark.parametrize("cls", all_errors())
def test_every_error_survives_a_process_boundary(cls: type[OpenEnvError]) -> None:
    error = cls("what happened", limit=3)
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(error, type(back))
    assert (back.message, back.details) == (error.message, error.details)


@pytest.mark.parametrize("cls", all_errors())
def test_every_error_has_a_code_for_each_door(cls: type[OpenEnvError]) -> None:
    assert re.fullmatch(r"[A-Z_]+", cls.code)
    assert cls.v1_code in V1_CODES
    assert 400 <= cls.http_status < 600
    assert isinstance(cls("x"), RuntimeError)


def test_no_two_errors_share_a_code_by_accident() -> None:
    owners: dict[str, type[OpenEnvError]] = {}
    for cls in all_errors():
        first = owners.setdefault(cls.code, cls)
        assert issubclass(cls, first) or issubclass(first, cls), f"{cls.__name__} and {first.__name__} share {cls.code}"


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (errors.CallTimeoutError, TimeoutError),
        (errors.SessionLostError, ConnectionError),
        (errors.ConnectionFailedError, ConnectionError),
        (errors.ConfigurationError, ValueError),
    ],
)
def test_what_older_programs_catch_still_catches(cls: type[OpenEnvError], builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise cls("x")


def test_the_docstring_draws_every_error_with_its_code() -> None:
    drawn = dict(re.findall(r"(\w+Error)(?: \(\w+\))?\s+([A-Z_]{4,})", errors.__doc__ or ""))
    assert drawn == {cls.__name__: cls.code for cls in all_errors() if cls is not OpenEnvError}


def test_a_code_of_a_newer_server_becomes_a_plain_error_that_keeps_it() -> None:
    error = error_from_wire("FROM_THE_FUTURE", "odd", {"x": 1})
    assert type(error) is OpenEnvError
    assert error.details == {"x": 1, "code": "FROM_THE_FUTURE"}


def test_the_text_of_an_error_names_its_code() -> None:
    assert str(EnvironmentFailedError("it broke")) == "it broke (code: EXECUTION_ERROR)"


def test_a_lost_session_tells_why() -> None:
    assert SessionLostError("gone").reason == "disconnected"
    assert SessionLostError("gone", reason=LossReason.IDLE_TIMEOUT).details == {"reason": "idle_timeout"}
    assert SessionLostError("gone", reason="solar_flare").reason == "solar_flare"


class Picky(BaseModel):
    number: int
    word: str
    blob: bytes = b""

    @field_validator("word")
    @classmethod
    def _check(cls, word: str) -> str:
        if word == "bad":
            raise ValueError("this word is bad")
        return word


def refusal(**values: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Picky(**values)
    return caught.value


def test_a_refusal_names_the_subject_and_the_first_field_and_counts_the_rest() -> None:
    error = ValidationFailedError.of(refusal(number="x", word=1), "the action")
    assert error.message.startswith("the action, field 'number': ")
    assert error.message.endswith("(and 1 more)")
    assert [problem["loc"] for problem in error.details["errors"]] == [["number"], ["word"]]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), b"\xff", object(), {1, 2}, ValueError("inner"), "\udcff"]
)
def test_the_problems_of_any_input_serialize(value: Any) -> None:
    problems = jsonable_problems(refusal(number=value, word="bad"))
    assert json.dumps(problems, allow_nan=False, ensure_ascii=False).encode()
    assert any("this word is bad" in problem["msg"] for problem in problems)


def test_the_cause_of_a_validator_s_refusal_is_text() -> None:
    (problem,) = jsonable_problems(refusal(number=1, word="bad"))
    assert problem["ctx"] == {"error": "this word is bad"}


def test_an_unknown_reset_option_is_a_validation_error_to_whoever_does_not_know_better() -> None:
    error = UnknownResetOptionError("reset has no option 'sede'", unknown=["sede"], known=["seed"])
    assert isinstance(error, ValidationFailedError)
    assert error.v1_code == "VALIDATION_ERROR"
    assert error.http_status == 422


@given(
    message=st.text(),
    details=st.dictionaries(st.text() | st.sampled_from(["self", "message", "reason"]), st.integers(), max_size=3),
)
def test_message_and_details_are_kept_whatever_they_are(message: str, details: dict[str, Any]) -> None:
    error = error_from_wire("PROTOCOL_ERROR", message, details)
    assert (error.message, error.details) == (message, details)


WILD = st.recursive(
    st.none()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.builds(object)
    | st.builds(ValueError, st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@given(WILD)
def test_anything_can_be_told_in_strict_json(value: Any) -> None:
    assert json.dumps(jsonable(value), allow_nan=False, ensure_ascii=False).encode()


def test_something_that_holds_itself_is_told_in_words() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert jsonable(ring) == "[[...]]"
