"""A command at a terminal of its own, with somebody who reads what it shows and types."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.processes import REPOSITORY, source_path

__all__ = ["COMMAND", "CTRL_C", "CTRL_D", "Terminal", "at_terminal", "surroundings"]

COMMAND = [sys.executable, "-m", "openenv_core.cli"]
CTRL_C, CTRL_D = "\x03", "\x04"

_LIMIT_S = 50.0
"""A server is started by the command; a busy machine takes long for that."""

_ROWS, _COLUMNS = 60, 100
_STYLE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
# The one who leads a session owns the first terminal that it opens, and its Ctrl-C is a signal then.
_OPEN_TERMINAL = 'exec "$@" <"$0" >"$0" 2>&1'


def surroundings(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment variables of a command: it sees the source tree, and no setting of the caller's."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {**kept, "PYTHONPATH": source_path(), "TERM": "xterm-256color", **(variables or {})}


class Terminal:
    """A running command and its terminal.

    Attributes:
        shown: everything that it has shown, colours and all.
        process: the command's process.
    """

    def __init__(self, *words: str, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        self._end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._other = other
        self.shown = ""
        self._read_up_to = 0
        self.process = subprocess.Popen(
            ["sh", "-c", _OPEN_TERMINAL, os.ttyname(other), *COMMAND, *words],
            env=surroundings(variables),
            cwd=folder,
            start_new_session=True,
        )

    def expect(self, text: str) -> str:
        """Wait until the text is shown; return what was shown up to it since the last time, without styles."""
        deadline = time.monotonic() + _LIMIT_S
        while True:
            plain = self.plain
            found = plain.find(text, self._read_up_to)
            if found >= 0:
                before = plain[self._read_up_to : found + len(text)]
                self._read_up_to = found + len(text)
                return before
            assert time.monotonic() < deadline, f"{text!r} was not shown:\n{plain[-3000:]}"
            assert self._read() or self.process.poll() is None, f"it ended without {text!r}:\n{plain[-3000:]}"

    def type(self, line: str) -> None:
        """Type a line."""
        self.press(f"{line}\n")

    def press(self, keys: str) -> None:
        """Type without a line's end."""
        os.write(self._end, keys.encode())

    def end(self) -> int:
        """Wait for the end of the command and return its exit code."""
        deadline = time.monotonic() + _LIMIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end:\n{self.plain[-3000:]}"
            self._read()
        while self._read():
            pass
        return self.process.returncode

    @property
    def plain(self) -> str:
        """Everything shown, as a person reads it: without styles, and without returns of the carriage."""
        return _STYLE.sub("", self.shown).replace("\r", "")

    def close(self) -> None:
        """End the command if it still runs, and close its terminal."""
        try:
            if self.process.poll() is None:
                self.process.terminate()
                self.end()  # somebody must read meanwhile: who leaves a terminal waits until its last words are out
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self._end)
            os.close(self._other)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._end], [], [], 0.05)
        if ready:
            self.shown += os.read(self._end, 1 << 16).decode(errors="replace")
        return bool(ready)


@contextlib.contextmanager
def at_terminal(
    *words: str, folder: Path = REPOSITORY, variables: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """A command at a terminal for the length of a ``with`` block."""
    terminal = Terminal(*words, folder=folder, variables=variables)
    try:
        yield terminal
    finally:
        terminal.close()
