"""The recorder and the disk: bounds, failures, a queue that is full, secrets."""

import contextlib
import logging
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openenv_core.recording import Note, Recorder, read_recording
from openenv_core.recording import recorder as recorder_module
from openenv_core.recording.shelf import recordings_in
from openenv_core.types import PictureFiles
from tests.recording.test_format import STARTED, facts, recorder, reset, step
from tests.recording.worlds import png
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits to be written waits less."""
    monkeypatch.setattr(recorder_module, "_PAUSE_S", 0.01)


def episode(writer: Recorder, number: int, *, size: int = 0, pictures: bool = False) -> str:
    """Record an episode; its name."""
    tape = writer.begin(facts(number=number), STARTED + number)
    files = PictureFiles("000001")
    if pictures:
        files.add(png(number % 256, side=64))
    answer = b'{"text":"%b"}' % (b"x" * size)
    writer.write(tape, Note("reset", STARTED + number, 0.0, "reset", b"{}", answer, pictures=files.files))
    writer.end(tape, "closed")
    return tape.name


def settled(writer: Recorder) -> None:
    """Wait until nothing waits to be written."""
    eventually(lambda: not writer._queue and writer._sleeping)


def on_disk(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_oldest_episodes_go_where_there_is_no_room_and_nothing_else_does(tmp_path: Path) -> None:
    bound = 200_000
    (tmp_path / "mine.jsonl").write_text("not a recording")
    writer = recorder(tmp_path, max_bytes=bound)
    names = []
    for number in range(12):
        names.append(episode(writer, number, size=30_000, pictures=True))
        settled(writer)
        assert on_disk(tmp_path) <= bound
    writer.close(10)
    kept = [path.stem for path in recordings_in(tmp_path)]
    assert kept == names[-len(kept) :]
    assert 3 <= len(kept) < 12
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == kept
    assert (tmp_path / "mine.jsonl").exists()
    assert writer.dropped == {}


def test_what_was_there_before_counts_and_goes_by_its_age(tmp_path: Path) -> None:
    first = recorder(tmp_path)
    names = [episode(first, number) for number in range(3)]
    first.close(10)
    for name, age in zip(names, (5000, 500, 50), strict=True):
        moment = STARTED - age
        os.utime(tmp_path / f"{name}.jsonl", (moment, moment))
    second = recorder(tmp_path, max_age_s=1000, clock=lambda: STARTED)
    third = episode(second, 3)
    settled(second)
    second.close(10)
    assert [path.stem for path in recordings_in(tmp_path)] == [*names[1:], third]


def test_an_episode_that_never_ends_is_cut_and_says_so(tmp_path: Path) -> None:
    writer = recorder(tmp_path, max_bytes=400_000)
    tape = writer.begin(facts(), STARTED)
    for number in range(1, 400):
        note = Note("step", STARTED, 0.0, "step", b"{}", b'{"text":"%b"}' % (b"x" * 1000), 1.0)
        writer.write(tape, note)
        if number % 20 == 0:
            settled(writer)
    writer.end(tape, "closed")
    writer.close(10)
    found = read_recording(tmp_path / f"{tape.name}.jsonl")
    assert on_disk(tmp_path) <= 100_500
    assert found.end is not None
    assert found.end.reason == "cut"
    assert 50 < len(found.frames) < 100
    assert writer.dropped["bounds"] == 400 - len(found.frames)


def test_a_full_queue_leaves_frames_out_counts_them_and_marks_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_MAX_LINES", 5)
    gate = threading.Event()
    writer = recorder(tmp_path)
    monkeypatch.setattr(writer, "_drain", lambda drain=writer._drain: (gate.wait(10), drain()))
    tape = writer.begin(facts(), STARTED)
    for number in range(8):
        writer.write(tape, step(number))
    assert writer.dropped == {"queue": 3}
    gate.set()
    settled(writer)
    writer.write(tape, step(9))
    writer.end(tape, "closed")
    writer.close(10)
    found = read_recording(tmp_path / f"{tape.name}.jsonl")
    assert [(frame.step, frame.lost) for frame in found.frames] == [(n, 0) for n in range(1, 6)] + [(6, 3)]
    assert found.lost == 3
    assert found.end is not None
    assert (found.end.steps, found.end.reward) == (9, 4.5)
    assert writer.written == 7


@contextlib.contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[None]:
    """A disk of its own, in memory."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {done.stderr.decode()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_a_warning_and_a_count_and_what_is_there_stays_readable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_RETRY_S", 0.0)
    folder = tmp_path / "disk"
    with small_disk(folder, 256), caplog.at_level(logging.WARNING):
        writer = recorder(folder)
        tape = writer.begin(facts(), STARTED)
        writer.write(tape, reset())
        settled(writer)
        (folder / "ballast").write_bytes(b"x" * 230 * 1024)
        for number in range(40):
            writer.write(tape, Note("step", STARTED, 0.0, "step", b"{}", b'{"t":"%b"}' % (b"x" * 2000), 1.0))
            if number % 8 == 0:
                settled(writer)
        settled(writer)
        assert writer.errors["ENOSPC"] >= 1
        lost = writer.dropped["disk"]
        assert lost >= 1
        before = read_recording(folder / f"{tape.name}.jsonl")
        assert not before.torn
        (folder / "ballast").unlink()
        writer.write(tape, step(1))
        writer.end(tape, "closed")
        writer.close(10)
        found = read_recording(folder / f"{tape.name}.jsonl")
    assert not found.damaged
    assert found.lost == lost
    assert found.frames[-1].line.type == "step"
    assert found.end is not None
    assert found.end.steps == 41
    [warning] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "cannot be recorded" in warning.getMessage()


@pytest.mark.parametrize("obstacle", ["file", "below a file"])
def test_a_folder_that_cannot_be_is_a_warning_and_a_count(
    tmp_path: Path, obstacle: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file")
    folder = tmp_path / "taken" if obstacle == "file" else tmp_path / "taken" / "below"
    writer = recorder(folder)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            episode(writer, number)
        settled(writer)
        writer.close(10)
    assert sum(writer.errors.values()) == 1  # and no second try for a while
    assert writer.dropped == {"disk": 6}
    assert writer.written == 0
    assert len(caplog.records) == 1


def test_no_secret_reaches_a_file(tmp_path: Path) -> None:
    secrets = ["hush-4711", '12"\\34', "314159"]
    writer = recorder(tmp_path, secrets=secrets)
    tape = writer.begin(facts(options={"key": "hush-4711"}), STARTED)
    answer = b'{"text":"a hush-4711 b","hush-4711":["12\\"\\\\34"],"number":314159,"digits":"314159"}'
    writer.write(tape, Note("step", STARTED, 0.0, "step", b'{"say":"hush-4711"}', answer, 314159.0))
    writer.write(tape, step(2))
    writer.end(tape, "closed")
    writer.close(10)
    path = tmp_path / f"{tape.name}.jsonl"
    text = path.read_text()
    assert "hush-4711" not in text
    found = read_recording(path)
    assert not found.damaged
    assert found.frames[0].observation == {
        "text": "a [redacted] b",
        "[redacted]": ["[redacted]"],
        "number": 314159,
        "digits": "[redacted]",
    }


def test_many_episodes_side_by_side_need_few_open_files(tmp_path: Path) -> None:
    writer = recorder(tmp_path)
    tapes = [writer.begin(facts(number=number), STARTED + number) for number in range(200)]
    for number in range(3):
        for tape in tapes:
            writer.write(tape, step(number))
        settled(writer)
        assert len(writer._files._open) <= 64
    for tape in tapes:
        writer.end(tape, "closed")
    writer.close(10)
    assert all(len(read_recording(path).frames) == 3 for path in recordings_in(tmp_path))
    assert len(recordings_in(tmp_path)) == 200
