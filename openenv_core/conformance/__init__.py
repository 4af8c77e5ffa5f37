"""Named checks of what an environment promises, for authors and for whoever runs one.

Three ways to the same checks:

* ``openenv check TARGET`` at the command line;
* ``pytest --openenv-check TARGET``: one test per check, beside the tests that are there;
* in a test module, one test per check::

      from openenv_core import conformance

      TestGuess = conformance.suite(GuessEnvironment)

A target is an environment class, an ``EnvironmentSpec``, or a text: the name of an installed environment,
``module:Class``, or the URL of a running server. All three need the extras ``cli`` and ``server``.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openenv_core.conformance.report import Report

__all__ = ["check", "suite"]

# The pytest plugin imports this package in every run of pytest: what the checks need is imported when they run.


def check(target: Any, *, only: Collection[str] = (), skip: Collection[str] = (), **options: Any) -> "Report":
    """Run the checks and return what came of them.

    Args:
        target: what is checked.
        only: names of the checks to run, and no others.
        skip: names of checks to leave out.
        **options: the fields of :class:`~openenv_core.conformance.subject.Options`: ``seed``, ``episodes``, ``steps``,
            ``timeout_s``, ``wait_s``, ``token``.

    Raises:
        ConfigurationError: there is no such target, or no check of a name given.
        OpenEnvError: the target cannot be checked: no environment can be built, no connection made.
    """
    _ask_for_extras()
    from openenv_core.conformance.run import CheckRun

    with CheckRun(target, only=only, skip=skip, **options) as run:
        return run.report()


def suite(target: Any, *, skip: Mapping[str, str] | None = None, **options: Any) -> type:
    """A test class for pytest with one test per check.

    >>> TestGuess = conformance.suite(GuessEnvironment)   # doctest: +SKIP

    Args:
        target: what is checked.
        skip: names of checks that do not apply, each with the reason.
        **options: as for :func:`check`.
    """
    _ask_for_extras()
    from openenv_core.conformance.testing import make_suite

    return make_suite(target, skip or {}, options)


def _ask_for_extras() -> None:
    from importlib.util import find_spec

    from openenv_core.errors import ConfigurationError

    missing = [name for name in ("fastapi", "httpx", "jsonschema", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the checks need {', '.join(missing)}: pip install 'openenv-core[cli,server]'", missing=missing
        )
