"""Writes episodes down while they are played, without ever making a step wait.

Whoever answers a call hands over a note, which is put into a bounded queue; a thread writes. Where it cannot keep up,
or the disk is full, notes are left out: that is counted, and the file says where. Nothing here raises at a caller.
"""

import errno
import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from openenv_core.recording.files import EpisodeFile, OpenFiles
from openenv_core.recording.lines import EpisodeLine, LostLine
from openenv_core.recording.shelf import Shelf
from openenv_core.recording.tape import Note, Tape

__all__ = ["Recorder"]

_log = logging.getLogger(__name__)

_MAX_LINES: Final = 50_000
_MAX_WAITING_BYTES: Final = 64 * 2**20
_PAUSE_S: Final = 0.25
"""What came within so many seconds is written in one go; no more than that is missing after the server is killed."""

_LINES_AT_A_TIME: Final = 512
"""Of one episode, in one piece: the interpreter is the others' while the disk has it."""

_SWEEP_S: Final = 60.0
_RETRY_S: Final = 1.0
_WARN_EVERY_S: Final = 60.0
_SHARE_OF_ONE: Final = 4
"""No episode may take more than this fraction (1/n) of the room of all."""


class _Entry(NamedTuple):
    """A line that waits: of which episode, after how many that were not taken, with which pictures."""

    tape: Tape
    lost: int
    line: bytes
    pictures: dict[str, bytes] | None
    is_last: bool = False

    @property
    def size(self) -> int:
        size = len(self.line)
        return size if not self.pictures else size + sum(map(len, self.pictures.values()))


def _text(line: BaseModel) -> bytes:
    return line.model_dump_json().encode() + b"\n"


class Recorder:
    """The recordings of one server. Its methods are called by one thread, the server's.

    Args:
        folder: where they go; it is made when the first is written.
        max_bytes: so much is kept in all; the oldest episodes go first.
        max_age_s: and none for longer than this after its end.
        secrets: texts that are taken out wherever they turn up in a string.
        clock: Unix time.

    Attributes:
        dropped: lines that were left out, by the reason: ``queue``, ``disk``, ``bounds``, ``fault``.
        errors: what went wrong on the disk, by the name of the system's error.
        written: lines that are in files.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        max_age_s: float,
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.written = 0
        self.dropped: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._clock = clock
        self._secrets = [json.dumps(secret)[1:-1].encode() for secret in secrets if secret]
        self._shelf = Shelf(folder, max_bytes=max_bytes, max_age_s=max_age_s)
        self._largest = max_bytes // _SHARE_OF_ONE
        self._files = OpenFiles(folder)
        self._queue: deque[_Entry] = deque()
        self._put = self._taken = 0  # bytes; each is counted by one thread alone
        self._wake = threading.Event()
        self._sleeping = False
        self._closing = False
        self._running: set[str] = set()
        self._scanned = False
        self._failed_at = self._warned_at = float("-inf")
        self._thread: threading.Thread | None = None

    @property
    def size(self) -> int:
        """Bytes of the recordings in the folder."""
        return self._shelf.bytes

    def begin(self, facts: EpisodeLine, started: float) -> Tape:
        """An episode begins; its file appears with its first note."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="openenv-recorder", daemon=True)
            self._thread.start()
        return Tape(facts, started)

    def write(self, tape: Tape, note: Note) -> None:
        """Put a note of an episode into the queue, or count it where that is full."""
        tape.count(note)
        # Written out here and now: to have the thread do it would cost the same interpreter more.
        entry = _Entry(tape, tape.lost, note.line(tape.started), note.pictures)
        size = entry.size
        if len(self._queue) >= _MAX_LINES or self._put - self._taken + size > _MAX_WAITING_BYTES:
            tape.lost += 1
            self.dropped["queue"] += 1
            return
        self._put += size
        self._hand_over(entry)

    def end(self, tape: Tape, reason: str) -> None:
        """An episode is over. Its last line finds room even in a full queue: there is one for each session at most."""
        entry = _Entry(tape, tape.lost, _text(tape.end(reason, self._clock())), None, True)
        self._put += entry.size
        self._hand_over(entry)

    def close(self, limit_s: float) -> None:
        """Write what is left, for ``limit_s`` seconds at most, and stop."""
        if self._thread is None:
            return
        self._closing = True
        self._wake.set()
        self._thread.join(limit_s)

    def _hand_over(self, entry: "_Entry") -> None:
        self._queue.append(entry)
        entry.tape.lost = 0
        if self._sleeping:
            self._wake.set()

    def _run(self) -> None:
        swept_at = float("-inf")
        while not self._closing or self._queue:
            self._sleeping = True
            if not self._queue and not self._closing:
                self._wake.wait(_SWEEP_S)
            self._sleeping = False
            self._wake.clear()
            self._drain()
            now = time.monotonic()
            if now - swept_at > _SWEEP_S:
                swept_at = now
                self._guarded(lambda: self._shelf.tidy(self._running, self._clock()))
            if not self._closing:
                self._wake.wait(_PAUSE_S)
        self._files.close_all()

    def _drain(self) -> None:
        """Write what is in the queue now, episode by episode."""
        by_tape: dict[Tape, list[_Entry]] = {}
        for _ in range(len(self._queue)):
            entry = self._queue.popleft()
            by_tape.setdefault(entry.tape, []).append(entry)
        for tape, entries in by_tape.items():
            for start in range(0, len(entries), _LINES_AT_A_TIME):
                some = entries[start : start + _LINES_AT_A_TIME]
                try:
                    self._write_some(tape, some)
                except Exception:  # noqa: BLE001 - whatever it is, the next episode may be written
                    _log.exception("lines of the episode %s cannot be recorded", tape.name)
                    self.dropped["fault"] += len(some)

    def _write_some(self, tape: Tape, entries: "list[_Entry]") -> None:
        if tape.writing is None:
            tape.writing = EpisodeFile(tape.name, self._redacted(_text(tape.facts)))
            self._running.add(tape.name)
        file: EpisodeFile = tape.writing
        lines: list[bytes] = []
        pictures: dict[str, bytes] = {}
        lost, unsaid = file.lost, 0
        for entry in entries:
            if lost or entry.lost:
                lines.append(_text(LostLine(lines=lost + entry.lost)))
                lost, unsaid = 0, unsaid + entry.lost
            lines.append(entry.line)
            self._taken += entry.size
            if entry.pictures:
                pictures |= entry.pictures
        if self._put_down(tape, file, b"".join(lines), pictures, len(entries)):
            self.written += len(entries)
            file.lost = 0
        else:
            file.lost += unsaid + len(entries)
        if entries[-1].is_last:
            self._files.close(file)
            self._running.discard(tape.name)

    def _put_down(self, tape: Tape, file: EpisodeFile, lines: bytes, pictures: dict[str, bytes], count: int) -> bool:
        text = self._redacted(lines)
        size = len(text) + sum(map(len, pictures.values()))
        reason = self._obstacle(tape, file, size)
        if not reason and not self._guarded(lambda: self._files.append(file, text, pictures)):
            reason = "disk"
        if reason:
            self.dropped[reason] += count
        else:
            self._shelf.wrote(tape.name, size, self._clock())
        return not reason

    def _obstacle(self, tape: Tape, file: EpisodeFile, size: int) -> str:
        """Why nothing can be written now; empty where it can."""
        if time.monotonic() - self._failed_at < _RETRY_S:
            return "disk"
        if not self._scanned:
            self._scanned = self._guarded(self._open_folder)
            if not self._scanned:
                return "disk"
        if file.cut or file.size + size > self._largest:
            self._cut(tape, file)
            return "bounds"
        if not self._shelf.room(size):
            self._guarded(lambda: self._shelf.tidy(self._running, self._clock(), wanted=size))
        return "" if self._shelf.room(size) else "bounds"

    def _cut(self, tape: Tape, file: EpisodeFile) -> None:
        """An episode has all the room that one may have: say so in its file, once."""
        if not file.cut:
            file.cut = True
            last = _text(tape.end("cut", self._clock()))
            self._guarded(lambda: self._files.append(file, last, {}))

    def _open_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._shelf.scan()

    def _guarded(self, work: Callable[[], Any]) -> bool:
        """Do something on the disk; what goes wrong there is counted and logged, and is nobody else's affair."""
        try:
            work()
        except OSError as error:
            self.errors[errno.errorcode.get(error.errno or 0, "other")] += 1
            self._failed_at = now = time.monotonic()
            if now - self._warned_at >= _WARN_EVERY_S:
                self._warned_at = now
                _log.warning(
                    "episodes cannot be recorded in %s (%s): frames are lost until that is mended, and the environment "
                    "is served as before",
                    *(self.folder, error.strerror or error),
                )
            return False
        return True

    def _redacted(self, text: bytes) -> bytes:
        """The lines without secrets."""
        if not any(secret in text for secret in self._secrets):
            return text
        return b"".join(
            json.dumps(self._without_secrets(json.loads(line))).encode() + b"\n" for line in text.splitlines()
        )

    def _without_secrets(self, value: Any) -> Any:
        # In strings alone: a secret of digits may turn up in a number, and what is left must be JSON.
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(json.loads(b'"%b"' % secret), "[redacted]")
            return value
        if isinstance(value, dict):
            return {self._without_secrets(key): self._without_secrets(item) for key, item in value.items()}
        return [self._without_secrets(item) for item in value] if isinstance(value, list) else value
