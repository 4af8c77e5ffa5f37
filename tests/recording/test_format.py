"""What is written is read again: every note, every file, cut off anywhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import ConfigurationError
from openenv_core.recording import EpisodeLine, Note, Recorder, Recording, find_recordings, read_recording, read_summary
from openenv_core.recording.lines import LINES, ErrorLine, ResetLine, StateLine, StepLine
from openenv_core.recording.reader import picture_file
from openenv_core.recording.tape import Tape, file_name
from openenv_core.types import PictureFiles
from openenv_core.wire.codec import encode_observation, encode_state, observation_in
from openenv_core.wire.values import model_json, value_json
from tests.recording.worlds import Seen, png

STARTED = 1_790_000_000.0

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
SECONDS = st.floats(0, 1e5)
REWARDS = st.none() | st.floats(-1e6, 1e6) | st.integers(-1000, 1000)


def facts(**more: Any) -> EpisodeLine:
    """A first line."""
    return EpisodeLine(environment="toy", session="0123456789ab", started="2026-01-01T00:00:00+00:00", **more)


@st.composite
def notes(draw: st.DrawFn) -> Note:
    """Any note."""
    kind = draw(st.sampled_from(["reset", "step", "state", "error"]))
    verb = draw(st.sampled_from(["reset", "step", "state"])) if kind == "error" else kind
    data = b"" if verb == "state" else value_json(draw(OBJECTS), "data")
    answer = json.dumps(draw(TEXT)).encode() if kind == "error" else value_json(draw(OBJECTS), "answer")
    done = draw(st.booleans())
    return Note(
        *(kind, STARTED + draw(SECONDS), draw(SECONDS), verb, data, answer),
        reward=draw(REWARDS),
        done=done,
        truncated=done and draw(st.booleans()),
        success=draw(st.none() | st.booleans()),
        code=draw(st.sampled_from(["EXECUTION_ERROR", "TIMEOUT"])) if kind == "error" else "",
    )


@given(notes())
def test_a_note_reads_as_what_it_was(note: Note) -> None:
    text = note.line(STARTED)
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1
    line = LINES.validate_json(text)
    assert line.type == note.kind
    assert not isinstance(line, EpisodeLine)
    answer = json.loads(note.answer)
    if isinstance(line, ResetLine | StepLine):
        assert (line.observation, line.reward, line.done) == (answer, note.reward, note.done)
        assert (line.truncated, line.success) == (note.truncated, note.success)
        assert line.at == pytest.approx(note.at - STARTED, abs=2e-6)
    if isinstance(line, StepLine):
        assert line.action == json.loads(note.data)
    if isinstance(line, StateLine):
        assert line.state == answer
    if isinstance(line, ErrorLine):
        assert (line.call, line.code, line.message) == (note.call, note.code, answer)
        assert line.data == (json.loads(note.data) if note.data else None)


def step(number: int, reward: float | None = 0.5, *, at: float = STARTED, **more: Any) -> Note:
    """A note of a step."""
    return Note("step", at + number, 0.001, "step", b'{"n":%d}' % number, b'{"seen":%d}' % number, reward, **more)


def reset(**more: Any) -> Note:
    """A note of a reset."""
    return Note("reset", STARTED, 0.001, "reset", b'{"seed":7}', b'{"seen":0}', None, **more)


def recorder(folder: Path, **more: Any) -> Recorder:
    """A recorder with room for everything."""
    return Recorder(folder, **{"max_bytes": 2**30, "max_age_s": 1e9, **more})


def written(folder: Path, *recorded: Note, reason: str = "closed") -> Path:
    """Record one episode; its file."""
    writer = recorder(folder)
    tape = writer.begin(facts(seed=7, options={"seed": 7}), STARTED)
    for note in recorded:
        writer.write(tape, note)
    writer.end(tape, reason)
    writer.close(10)
    assert writer.dropped == writer.errors == {}
    return folder / f"{tape.name}.jsonl"


@given(st.lists(notes(), max_size=8))
def test_an_episode_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, recorded: list[Note]) -> None:
    path = written(tmp_path_factory.mktemp("episodes"), *recorded)
    found = read_recording(path)
    assert [frame.line.type for frame in found.frames] == [note.kind for note in recorded]
    assert not found.damaged
    assert not found.torn
    assert found.end is not None
    observed = [note for note in recorded if note.kind in ("reset", "step")]
    assert found.reward == pytest.approx(sum(note.reward or 0 for note in observed))
    assert found.success == (observed[-1].success if observed else None)
    assert found.steps == sum(note.kind == "step" for note in recorded)
    assert read_summary(path) == found.summary()


def test_a_file_that_ends_anywhere_is_read_up_to_there(tmp_path: Path) -> None:
    path = written(tmp_path, reset(), step(1), step(2))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        found = read_recording(path)
        complete = whole[:length].count(b"\n") - 1
        assert len(found.frames) == min(complete, 3)
        assert found.end is None
        assert found.torn == (not whole[:length].endswith(b"\n"))
        assert found.steps == max(0, len(found.frames) - 1)
        assert read_summary(path).end is None
    for length in range(first):
        path.write_bytes(whole[:length])
        with pytest.raises(ConfigurationError, match="not a recorded episode"):
            read_recording(path)


@given(st.data())
def test_a_line_that_is_spoilt_costs_that_line_alone(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = written(tmp_path_factory.mktemp("episodes"), reset(), step(1), step(2), step(3))
    lines = path.read_bytes().split(b"\n")
    number = data.draw(st.integers(1, 4))
    lines[number] = data.draw(st.binary(max_size=30).filter(lambda spoilt: b"\n" not in spoilt))
    path.write_bytes(b"\n".join(lines))
    found = read_recording(path)
    assert found.damaged == [number + 1]
    assert len(found.frames) == 3
    assert found.end is not None


def test_what_a_later_version_adds_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, reset(), step(1))
    path.write_bytes(path.read_bytes().replace(b'"type":"step",', b'"type":"step","more":{"a":1},'))
    assert [frame.line.type for frame in read_recording(path).frames] == ["reset", "step"]


def test_names_sort_by_time_and_hold_nothing_that_a_disk_minds() -> None:
    names = [file_name(facts().model_copy(update={"environment": "../a b:c/é"}), STARTED + n / 10) for n in range(12)]
    assert names == sorted(set(names))
    assert all("/" not in name and " " not in name and name.isascii() for name in names)


@given(OBJECTS, st.booleans(), st.integers(1, 2**53 - 1))
def test_an_observation_is_found_in_the_frame_that_carries_it(values: dict[str, Any], cut: bool, number: int) -> None:
    frame = encode_observation(number, "0" * 32, values, truncated=cut)
    seen = observation_in(frame)
    assert seen is not None
    assert json.loads(seen) == values == json.loads(frame)["data"]
    assert observation_in(encode_state(number, "0" * 32, {"type": "observation", "data": values})) is None


def test_a_picture_is_a_file_and_the_same_one_is_kept_once() -> None:
    pictures = PictureFiles("000003")
    frame = png(7)
    text = model_json(Seen(caption="x", frame=frame), context=pictures)
    assert json.loads(text)["frame"] == {"$picture": "000003-0.png"}
    assert pictures.add(frame) == {"$picture": "000003-0.png"}
    assert pictures.files == {"000003-0.png": frame}


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/b.png", "..", "passwd", "link.png", "gone.png"])
def test_no_value_of_an_environment_leads_out_of_the_episodes_folder(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, reset())
    pictures = path.with_suffix("")
    pictures.mkdir()
    (tmp_path / "secret.png").write_bytes(png(1))
    (pictures / "link.png").symlink_to(tmp_path / "secret.png")
    assert picture_file(path, {"$picture": name}) is None


def test_recordings_are_found_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path / "one", reset())
    (tmp_path / "one" / "notes.jsonl").write_text("{}")
    assert find_recordings(tmp_path) == find_recordings(tmp_path / "one") == find_recordings(path) == [path]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ConfigurationError, match="no episode is recorded"):
        find_recordings(empty)
    with pytest.raises(ConfigurationError, match="neither"):
        find_recordings(tmp_path / "nowhere")


def test_facts_are_the_options_and_what_the_client_was_told_of_the_state(tmp_path: Path) -> None:
    state = Note("state", STARTED, 0.0, "state", b"", b'{"game_name":"catch"}')
    found: Recording = read_recording(written(tmp_path, reset(), state))
    assert found.facts == {"seed": 7, "game_name": "catch"}


def test_an_episode_counts_its_time() -> None:
    tape = Tape(facts(), STARTED)
    tape.count(step(1, 2.0))
    assert tape.end("closed", STARTED + 2.5).model_dump() == {
        "type": "end",
        "reason": "closed",
        "steps": 1,
        "reward": 2.0,
        "success": None,
        "seconds": 2.5,
    }
