"""What a server's processes are, and what they hold, read from ``/proc``."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["browsers", "descendants", "descriptors", "kept_folders", "parent", "renderers", "zombies"]

_PROC = Path("/proc")


def _fields(pid: int) -> list[str]:
    """State, parent, process group and more (proc(5)); nothing where the process is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _all() -> Iterator[int]:
    return (int(folder.name) for folder in _PROC.glob("[0-9]*"))


def descendants(root: int) -> set[int]:
    """The processes below one, whether they run or wait to be collected."""
    parents = {pid: int(fields[1]) for pid in _all() if (fields := _fields(pid))}
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def parent(pid: int) -> int:
    """The process that started one."""
    return int(_fields(pid)[1])


def zombies(root: int) -> set[int]:
    """Those of the descendants that have ended and were not collected."""
    return {pid for pid in descendants(root) if (_fields(pid) or ["X"])[0] == "Z"}


def browsers(root: int) -> set[int]:
    """The main processes of the browsers below a process."""
    return {pid for pid in descendants(root) if "--user-data-dir=" in _command(pid) and "--type=" not in _command(pid)}


def renderers(root: int) -> set[int]:
    """The processes that pages are in."""
    return {pid for pid in descendants(root) if "--type=renderer" in _command(pid)}


def descriptors(pid: int) -> int:
    """How many files and sockets a process has open."""
    return sum(1 for _ in (_PROC / str(pid) / "fd").iterdir())


def kept_folders() -> set[str]:
    """What drivers and browsers have in the folder for temporary files."""
    place = Path(tempfile.gettempdir())
    patterns = ("playwright*", "openenv-browser*", ".org.chromium*", "org.chromium*")
    return {entry.name for pattern in patterns for entry in place.glob(pattern)}
