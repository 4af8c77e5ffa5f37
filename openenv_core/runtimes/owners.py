"""Who started a container, as labels on it: what a killed process left behind can be told by them, and removed."""

import contextlib
import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path

__all__ = ["HOST_LABEL", "PID_LABEL", "STARTED_LABEL", "host_identity", "is_abandoned", "owner_labels"]

HOST_LABEL = "openenv.owner.host"
PID_LABEL = "openenv.owner.pid"
STARTED_LABEL = "openenv.owner.started"


def owner_labels() -> dict[str, str]:
    """Labels that name this process."""
    pid = os.getpid()
    return {HOST_LABEL: host_identity(), PID_LABEL: str(pid), STARTED_LABEL: _started(pid)}


def is_abandoned(labels: Mapping[str, str]) -> bool:
    """Whether the process that the labels name has lived on this machine and is gone.

    Of a process of another machine, or of another container, nothing can be told: what it owns is let be.
    """
    pid = labels.get(PID_LABEL, "")
    if labels.get(HOST_LABEL) != host_identity() or not pid.isdigit():
        return False
    return not _is_alive(int(pid)) or _started(int(pid)) != labels.get(STARTED_LABEL, "")


@functools.cache
def host_identity() -> str:
    """A name for the set of processes in which a process id means one process: machine, its start, its namespace."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return "/".join(parts)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return _state(pid)[:1] != ["Z"]


def _started(pid: int) -> str:
    """When a process was started, in the kernel's ticks: an id is given anew, but not at the same tick."""
    fields = _state(pid)
    return fields[19] if len(fields) > 19 else ""


def _state(pid: int) -> list[str]:
    """What the kernel tells of a process behind its name: its state first, its start as the 20th; see proc(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
