"""Running the checks on one target."""

from collections.abc import Collection
from difflib import get_close_matches
from types import TracebackType
from typing import Any, Self

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.checks import CHECKS
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import CheckResult, Finding, Report, Verdict, failed, skipped
from openenv_core.conformance.subject import Options, subject_of
from openenv_core.errors import CapacityReachedError, ConfigurationError, OpenEnvError

__all__ = ["CheckRun", "check_names"]


def check_names() -> list[str]:
    """The names of all checks, in their order."""
    return [check.name for check in CHECKS]


class CheckRun:
    """The checks of one target. Each runs once, when its result is first asked for. Use it in a ``with`` block.

    Args:
        target: as for :func:`openenv_core.conformance.check`.
        only, skip: names of checks.
        **options: the fields of :class:`~openenv_core.conformance.subject.Options`.

    Attributes:
        names: the checks that are run.
        target: what to call the target.

    Raises:
        ConfigurationError: there is no such target, or no check of a name given.
    """

    def __init__(self, target: Any, *, only: Collection[str] = (), skip: Collection[str] = (), **options: Any) -> None:
        for name in (*only, *skip):
            _known(name)
        self.names = [name for name in check_names() if (not only or name in only) and name not in skip]
        self.options = Options(**options)
        subject = subject_of(target)
        self.target = subject.name
        self._bench = Bench(subject, self.options)
        self._results: dict[str, CheckResult] = {}

    def __enter__(self) -> Self:
        """Serve the target. Raises ``OpenEnvError`` where it cannot be checked at all."""
        self._bench.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bench.__exit__(kind, error, trace)

    def result(self, name: str) -> CheckResult:
        """What came of a check."""
        if name not in self._results:
            finding = self._find(_known(name))
            self._results[name] = CheckResult(name, finding.verdict, " ".join(finding.reason.split()))
        return self._results[name]

    def report(self) -> Report:
        """What came of all of them."""
        return Report(self.target, self.options.seed, tuple(self.result(name) for name in self.names))

    def _find(self, check: Check) -> Finding:
        for name in check.needs:
            if self.result(name).verdict is not Verdict.PASS:
                return skipped(f"cannot tell while {name} does not pass")
        try:
            return check.run(self._bench)
        except CapacityReachedError as error:
            return skipped(f"others take up the server: {error.message}")
        except OpenEnvError as error:
            return failed(f"{error.code}: {error.message}", "the call ought to have gone through")
        except Exception as error:  # noqa: BLE001 - what an environment raises in a direct call is its own
            return failed(f"{type(error).__name__}: {error}".removesuffix(": "), "the environment's code raised it")


def _known(name: str) -> Check:
    found = next((check for check in CHECKS if check.name == name), None)
    if found is None:
        close = get_close_matches(name, check_names(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(check_names())}"
        raise ConfigurationError(f"there is no check {name!r}; {hint}")
    return found
