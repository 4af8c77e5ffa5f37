"""The checks as tests for pytest."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from openenv_core.conformance.report import CheckResult, Verdict
from openenv_core.conformance.run import CheckRun, check_names
from openenv_core.errors import OpenEnvError

__all__ = ["SharedRun", "make_suite", "settle"]


class SharedRun:
    """A run that tests share: it starts with the first of them, and ends with the node that they belong to.

    Args:
        make: makes the run.
    """

    def __init__(self, make: Callable[[], CheckRun]) -> None:
        self._make = make
        self._run: CheckRun | None = None
        self._failure: OpenEnvError | None = None

    def on(self, node: pytest.Collector) -> CheckRun:
        """The run, for the tests below ``node``. Fails each of them where the target cannot be checked."""
        if self._failure is None and self._run is None:
            try:
                self._run = self._make().__enter__()
            except OpenEnvError as error:
                self._failure = error
            else:
                node.addfinalizer(self._end)
        if self._run is None:
            pytest.fail(f"the target cannot be checked: {self._failure}", pytrace=False)
        return self._run

    def _end(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.__exit__(None, None, None)


def settle(result: CheckResult) -> None:
    """End the running test as the check ended. The reason says all there is to say: no traceback."""
    if result.verdict is Verdict.FAIL:
        pytest.fail(result.reason, pytrace=False)
    if result.verdict is Verdict.SKIP:
        pytest.skip(result.reason)


def make_suite(target: Any, skip: Mapping[str, str], options: Mapping[str, Any]) -> type:
    """A test class with one test per check. The server starts with its first test and ends with its last.

    Args:
        target, skip, options: as for :func:`openenv_core.conformance.suite`.

    Raises:
        ConfigurationError: there is no such target, or no check of a name given.
    """
    run = CheckRun(target, skip=skip, **options)
    shared = SharedRun(lambda: run)
    names = [
        pytest.param(name, marks=pytest.mark.skip(reason=skip[name])) if name in skip else name
        for name in check_names()
    ]

    class Conformance:
        @pytest.mark.parametrize("check", names)
        def test_conforms(self, check: str, request: pytest.FixtureRequest) -> None:
            """One check."""
            owner = request.node.getparent(pytest.Class)
            settle(shared.on(owner).result(check))

    Conformance.__doc__ = f"What {run.target} promises, one test for each promise."
    return Conformance
