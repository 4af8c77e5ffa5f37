"""What is found where things are looked over: by ``openenv validate`` and ``openenv doctor``."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Finding", "Severity", "as_json", "worst"]


class Severity(StrEnum):
    """How bad it is. ``SKIP``: it was not looked at; the message says why."""

    OK = "ok"
    SKIP = "skip"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: of what was looked at, ``area.thing``.
        severity: how bad it is.
        message: what was seen.
        remedy: what to do about it, where there is something to do.
    """

    name: str
    severity: Severity
    message: str
    remedy: str = ""


def worst(findings: Iterable[Finding]) -> Severity:
    """The worst of them; ``OK`` where there is none."""
    order = list(Severity)
    return max((finding.severity for finding in findings), key=order.index, default=Severity.OK)


def as_json(target: str, findings: Iterable[Finding]) -> dict[str, Any]:
    """A report as plain values: ``target``, ``ok`` (no error), how many of each severity, ``findings``."""
    rows = list(findings)
    return {
        "target": target,
        "ok": worst(rows) is not Severity.ERROR,
        **{f"{each}s": sum(row.severity is each for row in rows) for each in (Severity.ERROR, Severity.WARNING)},
        "findings": [asdict(row) for row in rows],
    }
