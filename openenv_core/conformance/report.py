"""What came of the checks."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

__all__ = ["CheckResult", "Finding", "Report", "Verdict", "failed", "passed", "skipped"]


class Verdict(StrEnum):
    """How a check came out. ``SKIP``: it does not apply to this target, or could not tell; the reason says which."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


class Finding(NamedTuple):
    """A verdict and its reason: one line, for a failure with its remedy."""

    verdict: Verdict
    reason: str


def passed(reason: str) -> Finding:
    """The target does what the check asks for; ``reason`` tells what was looked at."""
    return Finding(Verdict.PASS, reason)


def failed(what: str, remedy: str) -> Finding:
    """The target is at fault: ``what`` was seen, and ``remedy`` is what its author can do."""
    return Finding(Verdict.FAIL, f"{what.rstrip('.')}. {remedy[:1].upper()}{remedy[1:]}.")


def skipped(reason: str) -> Finding:
    """The check does not apply, or could not tell."""
    return Finding(Verdict.SKIP, reason)


@dataclass(frozen=True)
class CheckResult:
    """One row of a report.

    Attributes:
        name: the check's name.
        verdict, reason: as in :class:`Finding`.
    """

    name: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Report:
    """All rows, in the order of the checks.

    Attributes:
        target: what was checked.
        seed: the first seed that was played.
        results: the rows.
    """

    target: str
    seed: int
    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.of(Verdict.FAIL)

    def of(self, verdict: Verdict) -> list[CheckResult]:
        """The rows with this verdict."""
        return [result for result in self.results if result.verdict is verdict]

    def __getitem__(self, name: str) -> CheckResult:
        """The row of a check. Raises ``KeyError`` where it was not run."""
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "target": self.target,
            "seed": self.seed,
            "ok": self.ok,
            "passed": len(self.of(Verdict.PASS)),
            "failed": len(self.of(Verdict.FAIL)),
            "skipped": len(self.of(Verdict.SKIP)),
            "checks": [asdict(result) for result in self.results],
        }
