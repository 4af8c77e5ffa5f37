"""What both sides of ``benchmarks.browser`` do in a page of click-test. Only the standard library is imported."""

import os
from pathlib import Path

__all__ = ["ACTIONS", "TASK", "memory_below", "own_memory"]

TASK = "click-test"

ACTIONS = ("hover('13')", "focus('13')", "mouse_click(3, 3)", "noop(0)")
"""An action by element and pointer, one by element, one by coordinates, one that does nothing; none ends the task."""


def memory_below(root: int) -> int:
    """Proportional set size in bytes of a process and of all below it: server, driver, browser."""
    processes = {int(folder.name): _parent(folder) for folder in Path("/proc").glob("[0-9]*")}
    counted, fresh = {root}, {root}
    while fresh:
        fresh = {pid for pid, parent in processes.items() if parent in fresh} - counted
        counted |= fresh
    return sum(_pss(pid) for pid in counted)


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def own_memory() -> int:
    """:func:`memory_below` of this process."""
    return memory_below(os.getpid())
