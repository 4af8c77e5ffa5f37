"""The pytest plugin: ``pytest --openenv-check TARGET`` adds one test per check. Without that option it does nothing.

A target is the name of an installed environment, ``module:Class``, or the URL of a running server; the option may be
given more than once. The tests stand beside whatever else is collected, and ``-k`` chooses among them::

    pytest --openenv-check echo_env
    pytest --openenv-check my_env:MyEnvironment -k seed
"""

# pytest imports this in every run: nothing of the framework is imported before there is something to check.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from openenv_core.conformance.testing import SharedRun

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the checks."""
    group = parser.getgroup("openenv", "checks of OpenEnv environments")
    group.addoption(
        "--openenv-check",
        action="append",
        default=[],
        metavar="TARGET",
        help="check an environment, one test per check: an installed name, module:Class, or a URL",
    )
    group.addoption("--openenv-seed", type=int, default=0, help="first seed that the checks play (default 0)")
    group.addoption("--openenv-episodes", type=int, default=3, help="seeds that the checks play (default 3)")
    group.addoption("--openenv-steps", type=int, default=50, help="longest episode that the checks play (default 50)")


@pytest.hookimpl(tryfirst=True)  # so that -k and -m choose among these tests, too
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests."""
    for target in config.getoption("openenv_check"):
        checked = _Target.from_parent(session, name=target, nodeid=f"openenv-check[{target}]")
        items.extend(checked.collect())


class _Target(pytest.Collector):
    """One target: served from its first test to its last."""

    def collect(self) -> "Iterator[_CheckItem]":
        """One test per check."""
        from openenv_core.conformance.run import CheckRun, check_names
        from openenv_core.conformance.testing import SharedRun

        chosen = {name: self.config.getoption(f"openenv_{name}") for name in ("seed", "episodes", "steps")}
        shared = SharedRun(lambda: CheckRun(self.name, **chosen))
        for name in check_names():
            yield _CheckItem.from_parent(self, name=name, shared=shared)


class _CheckItem(pytest.Item):
    """One check."""

    def __init__(self, shared: "SharedRun", **arguments: Any) -> None:
        super().__init__(**arguments)
        self._shared = shared

    def runtest(self) -> None:
        """Run it, and end as it ends."""
        from openenv_core.conformance.testing import settle

        owner = self.parent
        assert isinstance(owner, _Target)
        settle(self._shared.on(owner).result(self.name))

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """How the test is headed in a report."""
        return self.path, None, self.nodeid
