"""One browser for all tests of this folder, and one server for each environment; both are real processes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, sync_playwright

from browsergym_env_server.executable import find_browser
from openenv_core.errors import ConfigurationError
from openenv_core.runtimes.process import ProcessRuntime

from .visiting import end_sessions

Serve = Callable[..., ProcessRuntime]


@pytest.fixture(
    scope="package"
)  # its driver keeps an event loop running in this thread: no other folder could have one
def browser() -> Iterator[Browser]:
    """The browser."""
    try:
        path = find_browser().path
    except ConfigurationError as error:
        missing = error.message
        pytest.fail(missing, pytrace=False)
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def serve() -> Iterator[Serve]:
    """Starts a server with its page; asked for the same one again, gives the one that runs."""
    running: dict[tuple[str, ...], ProcessRuntime] = {}
    with ExitStack() as stack:

        def run(target: str, *arguments: str) -> ProcessRuntime:
            key = (target, *arguments)
            if key not in running:
                running[key] = stack.enter_context(ProcessRuntime(target, arguments=["--web", *arguments]))
            return running[key]

        yield run


def _emptied(server: ProcessRuntime) -> Iterator[ProcessRuntime]:
    yield server
    end_sessions(server)


@pytest.fixture
def echo(serve: Serve) -> Iterator[ProcessRuntime]:
    """The echo environment; there is room for two."""
    yield from _emptied(serve("echo_env", "--max-sessions", "2"))


@pytest.fixture
def wordle(serve: Serve) -> Iterator[ProcessRuntime]:
    """TextArena's Wordle."""
    yield from _emptied(serve("textarena_env"))


@pytest.fixture
def openspiel(serve: Serve) -> Iterator[ProcessRuntime]:
    """OpenSpiel's games."""
    yield from _emptied(serve("openspiel_env"))


@pytest.fixture
def browsergym(serve: Serve) -> Iterator[ProcessRuntime]:
    """The browser environment."""
    yield from _emptied(serve("browsergym_env"))


@pytest.fixture
def gallery(serve: Serve) -> Iterator[ProcessRuntime]:
    """What is hard to show."""
    yield from _emptied(serve("tests.playground.worlds:Gallery", "--max-sessions", "8"))


@pytest.fixture
def kinds(serve: Serve) -> Iterator[ProcessRuntime]:
    """An action with a field of every kind."""
    yield from _emptied(serve("tests.playground.worlds:Kinds", "--max-sessions", "8"))
