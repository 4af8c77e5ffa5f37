"""The MiniWoB pages: where they are on this machine, and what is in the folder."""

import mimetypes
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from openenv_core.errors import ConfigurationError

__all__ = ["Asset", "PageFolder", "find_pages"]

PACKAGED = "openenv_miniwob_pages"
"""A folder that the build of this distribution fills from the package ``miniwob`` (``hatch_build.py``)."""

_SOURCES = ((PACKAGED, ""), ("miniwob", "html"))


@dataclass(frozen=True)
class Asset:
    """A file of the folder: its bytes and its media type.

    No character set is told: the pages name none either, and BrowserGym serves them so. The browser then reads them as
    windows-1252, which shows in the goal of ``unicode-test``.
    """

    body: bytes
    media_type: str


class PageFolder:
    """The folder ``html`` of MiniWoB: tasks in ``miniwob/``, what they share beside it.

    Attributes:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        """Args:
        root: the folder, or its ``miniwob/``.

        Raises:
            ConfigurationError: no pages are there.
        """
        found = next(
            (place for place in (root, root.parent) if (place / "miniwob" / "click-test.html").is_file()), None
        )
        if found is None:
            raise ConfigurationError(f"{root} holds no MiniWoB pages: there is no miniwob/click-test.html in it")
        self.root = found.resolve()
        self.read = lru_cache(maxsize=512)(self._read)

    def task_names(self) -> list[str]:
        """The tasks that have a page, sorted."""
        return sorted(page.stem for page in (self.root / "miniwob").glob("*.html"))

    def _read(self, path: str) -> Asset | None:
        """The file at a path from the root, without a slash before it; ``None`` where there is none inside the root."""
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root) or not file.is_file():
            return None
        media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return Asset(file.read_bytes(), media_type)


def find_pages(folder: str | None) -> PageFolder:
    """The pages in ``folder``, or those that came with this distribution, or those of the package ``miniwob``.

    Raises:
        ConfigurationError: there are none; the message says how to get them.
    """
    if folder is not None:
        return PageFolder(Path(folder))
    for package, inner in _SOURCES:
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            root = Path(place) / inner
            if (root / "miniwob").is_dir():
                return PageFolder(root)
    raise ConfigurationError(
        "the MiniWoB pages are not installed: run `pip install --no-deps miniwob`, or set MINIWOB_HTML_DIR to a folder "
        "that holds them"
    )
