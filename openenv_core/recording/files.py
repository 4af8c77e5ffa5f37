"""The files of episodes that run: opened when they are written to, and not all kept open."""

import os
from collections import OrderedDict
from pathlib import Path
from typing import Final

__all__ = ["EpisodeFile", "OpenFiles"]

_KEPT_OPEN: Final = 64
"""A server has as many files as sessions, and needs what the system allows for sockets."""


class EpisodeFile:
    """One episode on the disk.

    Attributes:
        name: of the file, without its ending.
        first_line: not written yet; empty once it is.
        size: bytes of whole lines that are in the file, and of its pictures.
        lost: lines that could not be written since the last that was.
        cut: nothing more is written to it.
    """

    __slots__ = ("cut", "first_line", "length", "lost", "name", "size")

    def __init__(self, name: str, first_line: bytes) -> None:
        self.name = name
        self.first_line = first_line
        self.size = 0
        self.length = 0
        self.lost = 0
        self.cut = False


class OpenFiles:
    """Appends to the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[str, int] = OrderedDict()

    def append(self, file: EpisodeFile, lines: bytes, pictures: dict[str, bytes]) -> None:
        """Write whole lines, and the pictures that they name first.

        Raises:
            OSError: nothing of the lines is in the file.
        """
        for name, png in pictures.items():
            self._put_picture(file.name, name, png)
        text = file.first_line + lines
        descriptor = self._descriptor(file.name)
        try:
            _write(descriptor, text)
        except OSError:
            os.ftruncate(descriptor, file.length)  # what is there ends with a whole line
            self.close(file)
            if not file.length:
                (self._folder / f"{file.name}.jsonl").unlink(missing_ok=True)
            raise
        file.first_line = b""
        file.length += len(text)
        file.size += len(text) + sum(map(len, pictures.values()))

    def close(self, file: EpisodeFile) -> None:
        """Nothing more is written for now."""
        descriptor = self._open.pop(file.name, None)
        if descriptor is not None:
            os.close(descriptor)

    def close_all(self) -> None:
        """Close what is open."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _descriptor(self, name: str) -> int:
        descriptor = self._open.pop(name, None)
        if descriptor is None:
            path = self._folder / f"{name}.jsonl"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            if len(self._open) >= _KEPT_OPEN:
                os.close(self._open.popitem(last=False)[1])
        self._open[name] = descriptor
        return descriptor

    def _put_picture(self, episode: str, name: str, png: bytes) -> None:
        folder = self._folder / episode
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(png)


def _write(descriptor: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
