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
from typing import Any, Final

from openenv_core.recording.files import EpisodeFile, OpenFiles
from openenv_core.recording.lines import EndLine, EpisodeLine, LostLine
from openenv_core.recording.shelf import Shelf
from openenv_core.recording.tape import Note, Tape

__all__ = ["Recorder"]

_log = logging.getLogger(__name__)

_MAX_NOTES: Final = 50_000
_MAX_WAITING_BYTES: Final = 64 * 2**20
_PAUSE_S: Final = 0.25
"""What came within so many seconds is written in one go; no more than that is missing after the server is killed."""

_NOTES_AT_A_TIME: Final = 16
"""After so many notes the thread lets others run: without that a step may wait for it as long as the interpreter's
switch interval, which is 5 ms."""

_SWEEP_S: Final = 60.0
_RETRY_S: Final = 1.0
_WARN_EVERY_S: Final = 60.0
_SHARE_OF_ONE: Final = 4
"""No episode may take more than this fraction (1/n) of the room of all."""

_Entry = tuple[Tape, int, Note | EndLine]


class Recorder:
    """The recordings of one server. Its methods are called by one thread, the server's.

    Args:
        folder: where they go; it is made when the first is written.
        max_bytes: so much is kept in all; the oldest episodes go first.
        max_age_s: and none for longer than this after its end.
        secrets: texts that are taken out wherever they turn up in a string.
        clock: Unix time.

    Attributes:
        dropped: lines that were left out, by the reason: ``queue``, ``disk``, ``bounds``.
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
        size = note.size
        if len(self._queue) >= _MAX_NOTES or self._put - self._taken + size > _MAX_WAITING_BYTES:
            tape.lost += 1
            self.dropped["queue"] += 1
            return
        self._put += size
        self._hand_over(tape, note)

    def end(self, tape: Tape, reason: str) -> None:
        """An episode is over. Its last line finds room even in a full queue: there is one for each session at most."""
        self._hand_over(tape, tape.end(reason, self._clock()))

    def close(self, limit_s: float) -> None:
        """Write what is left, for ``limit_s`` seconds at most, and stop."""
        if self._thread is None:
            return
        self._closing = True
        self._wake.set()
        self._thread.join(limit_s)

    def _hand_over(self, tape: Tape, entry: Note | EndLine) -> None:
        self._queue.append((tape, tape.lost, entry))
        tape.lost = 0
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
        by_tape: dict[Tape, list[tuple[int, Note | EndLine]]] = {}
        for _ in range(len(self._queue)):
            tape, lost, entry = self._queue.popleft()
            by_tape.setdefault(tape, []).append((lost, entry))
        for tape, entries in by_tape.items():
            for start in range(0, len(entries), _NOTES_AT_A_TIME):
                self._write_some(tape, entries[start : start + _NOTES_AT_A_TIME])
                time.sleep(0)

    def _write_some(self, tape: Tape, entries: list[tuple[int, Note | EndLine]]) -> None:
        if tape.writing is None:
            tape.writing = EpisodeFile(tape.name, self._redacted(tape.facts.model_dump_json().encode() + b"\n"))
            self._running.add(tape.name)
        file: EpisodeFile = tape.writing
        lines: list[bytes] = []
        pictures: dict[str, bytes] = {}
        lost = file.lost
        for lost_before, entry in entries:
            lost += lost_before
            if lost:
                lines.append(LostLine(lines=lost).model_dump_json().encode() + b"\n")
                file.lost, lost = file.lost + lost_before, 0
            if isinstance(entry, Note):
                self._taken += entry.size
                lines.append(entry.line(tape.started))
                pictures |= entry.pictures or {}
            else:
                lines.append(entry.model_dump_json().encode() + b"\n")
        if self._put_down(tape, file, b"".join(lines), pictures, len(entries)):
            self.written += len(entries)
            file.lost = 0
        else:
            file.lost += len(entries)
        if isinstance(entries[-1][1], EndLine):
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
            last = tape.end("cut", self._clock()).model_dump_json().encode() + b"\n"
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
