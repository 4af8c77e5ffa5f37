"""The files that a browser loads: read once, packed once, named by their content, so that they are kept for good."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

__all__ = ["Asset", "Assets"]

_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Asset:
    """One file: its bytes, the same packed, and what it is."""

    content: bytes
    media_type: str

    @cached_property
    def packed(self) -> bytes:
        """The bytes as gzip has them; the same at every start, for whoever compares."""
        return gzip.compress(self.content, 9, mtime=0)


class Assets:
    """The files of a folder.

    Attributes:
        version: a name for all that is in them, a part of their addresses.
    """

    def __init__(self, folder: Path) -> None:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _TYPES)
        self._files = {path.name: Asset(path.read_bytes(), _TYPES[path.suffix]) for path in paths}
        digest = hashlib.sha256()
        for name, asset in self._files.items():
            digest.update(name.encode() + b"\0" + asset.content)
        self.version = digest.hexdigest()[:12]

    def find(self, name: str) -> Asset | None:
        """The file of that name."""
        return self._files.get(name)

    def scripts(self) -> list[str]:
        """The names of all scripts."""
        return [name for name in self._files if name.endswith(".js")]
