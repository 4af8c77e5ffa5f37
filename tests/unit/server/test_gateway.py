"""What holds behind every door: one environment that does everything wrong, behind each of them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from openenv_core.errors import (
    EnvironmentFactoryError,
    EnvironmentFailedError,
    EpisodeNotStartedError,
    EpisodeOverError,
    InvalidObservationError,
    InvalidRewardError,
    OpenEnvError,
    UnknownResetOptionError,
    ValidationFailedError,
)
from tests.support.awkward import VALUES, Awkward, AwkwardInline, BrokenFactory
from tests.support.doors import DOORS, Door
from tests.support.serving import Served, serving
from tests.support.waiting import eventually


@pytest.fixture(scope="module", params=[Awkward, AwkwardInline], ids=["thread", "inline"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    with serving(request.param) as found:
        yield found


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, served: Served) -> Iterator[Door]:
    with DOORS[request.param](served) as found:
        yield found
    served.end_sessions()


def do(word: str, **fields: Any) -> dict[str, Any]:
    return {"word": word, **fields}


def assert_it_goes_on(door: Door, steps: int) -> None:
    """The session lives, and its episode too."""
    assert door.step(do("go"))["steps"] == steps


def test_an_episode(door: Door) -> None:
    assert door.reset(mood="bad")["value"] == "bad"
    first = door.step(do("go"))
    assert (first["steps"], first["reward"], first["done"]) == (1, 0.5, False)
    assert door.step(do("end"))["done"] is True
    assert door.state()["step_count"] == 2
    assert door.reset()["value"] == "good"
    assert door.state()["step_count"] == 0


def test_step_before_reset(door: Door, served: Served) -> None:
    if "Http" in type(door).__name__:
        return  # there is no session before the first reset; test_http has what is said then
    with pytest.raises(EpisodeNotStartedError, match="call reset first"):
        door.step(do("go"))
    assert door.state()["step_count"] == 0
    door.reset()
    assert_it_goes_on(door, 1)


@pytest.mark.parametrize("word", ["end", "cut"])
def test_step_after_the_end(door: Door, word: str) -> None:
    door.reset()
    ended = door.step(do(word))
    assert (ended["done"], ended.get("truncated", False)) == (True, word == "cut")
    for _ in range(2):
        with pytest.raises(EpisodeOverError, match="call reset"):
            door.step(do("go"))
    assert door.state()["step_count"] == 1
    door.reset()
    assert_it_goes_on(door, 1)


def test_the_step_limit_cuts_the_episode(door: Door) -> None:
    door.reset()
    for _ in range(49):
        assert door.step(do("go"))["done"] is False
    last = door.step(do("go"))
    assert (last["done"], last["truncated"]) == (True, True)
    with pytest.raises(EpisodeOverError):
        door.step(do("go"))


def test_an_option_that_does_not_exist(door: Door) -> None:
    door.reset()
    with pytest.raises(
        UnknownResetOptionError, match=r"'sede'.*it knows episode_id, fails, mood, seed, size"
    ) as caught:
        door.reset(sede=1)
    assert caught.value.details["unknown"] == ["sede"]
    assert "seed" in caught.value.details["known"]
    assert_it_goes_on(door, 1)


@pytest.mark.parametrize(
    "options", [{"mood": "odd"}, {"size": "large"}, {"seed": -1}, {"seed": "x"}, {"episode_id": 5}]
)
def test_an_option_of_the_wrong_kind(door: Door, options: dict[str, Any]) -> None:
    door.reset()
    with pytest.raises(ValidationFailedError) as caught:
        door.reset(**options)
    assert next(iter(options)) in caught.value.message
    assert_it_goes_on(door, 1)


@pytest.mark.parametrize("word", ["nan", "endless"])
def test_a_reward_that_is_no_number(door: Door, word: str) -> None:
    door.reset()
    with pytest.raises(InvalidRewardError, match=r"not a finite number\. The call itself has run"):
        door.step(do(word))
    assert_it_goes_on(door, 2)


@pytest.mark.parametrize("word", ["none", "dict", "class", "half"])
def test_what_is_no_observation(door: Door, word: str) -> None:
    door.reset()
    with pytest.raises(InvalidObservationError, match="step returned"):
        door.step(do(word))
    assert_it_goes_on(door, 2)


@pytest.mark.parametrize(
    ("word", "field"), [("opaque", "value"), ("opaque metadata", "metadata"), ("half a pair", "value")]
)
def test_an_observation_that_does_not_serialize(door: Door, word: str, field: str) -> None:
    door.reset()
    with pytest.raises(InvalidObservationError, match=f"Got.{field} does not serialize"):
        door.step(do(word))
    assert_it_goes_on(door, 2)


@pytest.mark.parametrize("name", VALUES)
def test_values_in_every_place(door: Door, name: str) -> None:
    door.reset()
    found = door.step(do(f"value: {name}"))
    assert found["value"] == found["metadata"]["value"] == VALUES[name][1]
    door.step(do(f"state: {name}"))
    assert door.state()["value"] == VALUES[name][1]


def test_values_in_typed_fields(door: Door) -> None:
    door.reset()
    assert door.step(do("typed bytes"))["blob"] == "data:;base64,/wA="
    assert door.step(do("typed moment"))["when"] == "2024-05-01T12:30:00Z"


@pytest.mark.parametrize(
    ("action", "culprit"),
    [
        (do("refused"), "this word is refused"),
        ({"wrod": "go"}, "wrod"),
        ({"word": 5}, "word"),
        ({"size": 1.5}, "size"),
        ([], ""),
        ("go", ""),
        (None, ""),
    ],
)
def test_an_action_that_does_not_fit(door: Door, action: Any, culprit: str) -> None:
    door.reset()
    with pytest.raises(ValidationFailedError) as caught:
        door.step(action)
    assert culprit in str(caught.value) + str(caught.value.details)
    assert caught.value.details["errors"]
    assert_it_goes_on(door, 1)


def test_an_action_whose_check_breaks(door: Door) -> None:
    door.reset()
    with pytest.raises(EnvironmentFailedError, match="KeyError"):
        door.step(do("breaks the check"))
    assert_it_goes_on(door, 1)


@pytest.mark.parametrize(
    ("word", "says"),
    [("raise", "the step broke"), ("raise nothing", "ValueError"), ("raise odd text", "half a pair"), ("stop", "3")],
)
def test_a_step_that_raises(door: Door, word: str, says: str) -> None:
    door.reset()
    with pytest.raises(EnvironmentFailedError, match=says) as caught:
        door.step(do(word))
    assert type(caught.value) is EnvironmentFailedError
    assert caught.value.details["error_id"]
    assert_it_goes_on(door, 2)


def test_a_step_that_would_leave_the_process(door: Door) -> None:
    door.reset()
    with pytest.raises(EnvironmentFailedError, match="SystemExit"):
        door.step(do("exit"))
    assert_it_goes_on(door, 2)


def test_a_reset_that_raises(door: Door) -> None:
    door.reset()
    with pytest.raises(EnvironmentFailedError, match="the reset broke"):
        door.reset(fails=True)
    with pytest.raises(EpisodeNotStartedError):
        door.step(do("go"))
    door.reset()
    assert_it_goes_on(door, 1)


def test_a_state_that_raises(door: Door) -> None:
    door.reset()
    door.step(do("state: raise"))
    with pytest.raises(EnvironmentFailedError, match="the state broke"):
        door.state()
    door.step(do("state: opaque"))
    with pytest.raises(InvalidObservationError, match=r"Told\.value does not serialize"):
        door.state()
    assert_it_goes_on(door, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "[1, 2",
        '{"action": ',
        "null",
        "5",
        '"go"',
        "[]",
        "[[]]",
        "{}",
        "\x00",
        "[" * 5_000,
        '{"a":' * 3_000 + "1" + "}" * 3_000,
        "1" * 5_000,
        "1e999",
        '{"type": ["step"], "action": 5, "data": {}}',
        '{"type": "\\ud800", "action": {"word": "\\ud800"}}',
        '{"type": "step", "action": {"word": "\\ud800"}, "data": {"word": "\\ud800"}}',
        '{"type": "step", "action": {"size": NaN}, "data": {"size": NaN}, "id": 1, "session": "s"}',
        '{"type": "step", "action": {"size": 1e999}, "data": {"size": 1e999}, "id": 1, "session": "s"}',
        '{"type": "hello", "action": 5}',
    ],
    ids=lambda text: ascii(text[:40]),
)
def test_noise_is_refused_with_a_code_and_harms_nothing(door: Door, text: str) -> None:
    door.reset()
    told = door.raw(text)
    assert told.get("code") or told["detail"]
    assert_it_goes_on(door, 1)


@pytest.mark.parametrize("name", DOORS)
def test_an_environment_that_cannot_be_made(name: str) -> None:
    with serving(BrokenFactory) as served:
        for _ in range(2):
            with (
                pytest.raises(EnvironmentFactoryError, match="'BrokenFactory' failed") as caught,
                DOORS[name](served) as door,
            ):
                door.reset()
            # The public protocol has a text of its own for it; ours tells what was raised, as it does of a step.
            assert ("the constructor broke" in str(caught.value)) == (name == "v2")
        eventually(lambda: served.active == 0)


@pytest.mark.parametrize("name", DOORS)
def test_a_close_that_raises_gives_the_slot_back(served: Served, name: str) -> None:
    Awkward.closes.clear()
    with DOORS[name](served) as door:
        door.reset()
    served.end_sessions()
    assert Awkward.closes == ["closed"]


@pytest.mark.parametrize("name", DOORS)
def test_an_unusually_large_observation_is_in_the_log_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(AwkwardInline, env_name="chatty", limits={"warn_message_bytes": 5000}) as served:
        with DOORS[name](served) as door:
            door.reset()
            door.step(do("go", size=100))
            assert "bytes was sent" not in caplog.text
            door.step(do("go", size=6000))
        (line,) = [record.getMessage() for record in caplog.records if "bytes was sent" in record.getMessage()]
        assert line.startswith("chatty: ")
        assert int(re.findall(r"of (\d+) bytes", line)[0]) > 6000


def test_every_door_says_the_same(served: Served) -> None:
    said = []
    for make in DOORS.values():
        with make(served) as door:
            door.reset(seed=1)
            results: list[Any] = []
            for word in ("go", "raise", "nan", "opaque", "half", "refused", "end", "go"):
                try:
                    results.append(door.step(do(word)))
                except OpenEnvError as error:
                    results.append((error.code, {**error.details, "error_id": None}.keys()))
            said.append([str(result) for result in results])
    codes = [[line for line in lines if "INVALID" in line or "OVER" in line] for lines in said]
    assert codes[0] == codes[1] == codes[2]
