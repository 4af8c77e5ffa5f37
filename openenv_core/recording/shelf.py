"""The folder of recordings: what is in it, how large it is, and what has to go."""

import re
import shutil
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["NAME", "Shelf", "recordings_in"]

NAME: Final = re.compile(r"\d{8}T\d{12}-[\w.]{1,40}-[0-9a-f]{12}-\d+", re.ASCII)
"""The name of an episode's file without its ending; nothing else in the folder is ever touched."""

_BLOCK: Final = 4096
"""Bytes that a small file takes on most disks; thousands of them are not for nothing."""

_SPARE: Final = 100
"""Where room has to be made, a hundredth of it all is made at once."""


def recordings_in(folder: Path) -> list[Path]:
    """The files of episodes in a folder, the oldest first."""
    return sorted(path for path in folder.glob("*.jsonl") if NAME.fullmatch(path.stem))


@dataclass
class _Kept:
    size: int
    last_written: float


class Shelf:
    """Sizes and ages of the episodes in a folder. All moments are Unix time, in seconds.

    Args:
        folder: where they are.
        max_bytes: so much may be there in all.
        max_age_s: an episode goes so many seconds after it was last written to.
    """

    def __init__(self, folder: Path, *, max_bytes: int, max_age_s: float) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # what was written to last is last
        self.bytes = 0

    def scan(self) -> None:
        """Look at what is there. Raises ``OSError`` for a folder that cannot be read."""
        files = recordings_in(self.folder)
        found = {path.stem: _Kept(_size_on_disk(path), path.stat().st_mtime) for path in files}
        self._kept = OrderedDict(sorted(found.items(), key=lambda item: item[1].last_written))
        self.bytes = sum(kept.size for kept in self._kept.values())

    def room(self, size: int) -> bool:
        """Whether so many bytes more fit within the bound."""
        return self.bytes + size <= self._max_bytes

    def wrote(self, name: str, size: int, now: float) -> None:
        """An episode grew by so many bytes."""
        if name not in self._kept:
            self._kept[name] = _Kept(_BLOCK, now)
            self.bytes += _BLOCK
        kept = self._kept[name]
        kept.size += size
        kept.last_written = now
        self._kept.move_to_end(name)
        self.bytes += size

    def tidy(self, running: set[str], now: float, *, wanted: int = 0) -> None:
        """Remove what is too old, and the oldest until there is room for ``wanted`` bytes more; never what is running.

        Raises:
            OSError: something cannot be removed; it no longer counts all the same.
        """
        if not self.room(wanted):
            wanted += self._max_bytes // _SPARE  # so that it is not done again for the next line
        for name, kept in list(self._kept.items()):
            if self.room(wanted) and now - kept.last_written < self._max_age_s:
                return
            if name not in running:
                del self._kept[name]
                self.bytes -= kept.size
                self._remove(name)

    def _remove(self, name: str) -> None:
        (self.folder / f"{name}.jsonl").unlink(missing_ok=True)
        pictures = self.folder / name
        if pictures.is_dir() and not pictures.is_symlink():
            shutil.rmtree(pictures)


def _size_on_disk(path: Path) -> int:
    files = [path, *path.with_suffix("").glob("*.png")]
    return sum(-(-file.stat().st_size // _BLOCK) * _BLOCK for file in files)
