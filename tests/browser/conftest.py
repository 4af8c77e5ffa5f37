"""One event loop and one browser for the tests of this folder; each test has sessions of its own in it."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.executable import find_browser
from browsergym_env_server.keeper import Keeper
from browsergym_env_server.settings import BrowserGymSettings
from openenv_core.errors import ConfigurationError

ResultT = TypeVar("ResultT")


class Run(Protocol):
    """Runs a coroutine to its end."""

    def __call__(self, work: Coroutine[Any, Any, ResultT], /) -> ResultT: ...


@pytest.fixture(scope="session")
def installed_browser() -> str:
    """The path of the browser."""
    try:
        return str(find_browser().path)
    except ConfigurationError as error:
        missing = error.message
    pytest.fail(missing, pytrace=False)


@pytest.fixture(scope="session")
def run(installed_browser: str) -> Iterator[Run]:
    """Runs a coroutine on the loop that all tests here share."""
    with asyncio.Runner() as runner:
        yield runner.run
        runner.run(_end_browsers())


async def _end_browsers() -> None:
    await Keeper.of_running_loop(BrowserGymSettings()).close()


@pytest.fixture
def environment(run: Run) -> Iterator[BrowserGymEnvironment]:
    """A session with the default settings."""
    made = BrowserGymEnvironment(BrowserGymSettings())
    yield made
    run(made.close())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long forms out unless ``-m`` asks for them."""
    if "slow" in config.getoption("markexpr"):
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.skip(reason="a long form: run with -m slow"))
