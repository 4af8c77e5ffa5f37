"""Servers of both packages, one process each, for as long as the tests of this folder run."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.processes import PeerMissingError, ServerProcess, peer_python, running

from .servers import OUR_PLACE, PEER_PLACE, our_command, peer_command

StartServer = Callable[[str], ServerProcess]


@pytest.fixture(scope="session")
def peer() -> Path:
    """The Python that holds the public package."""
    try:
        return peer_python()
    except PeerMissingError as error:
        missing = str(error)
    pytest.fail(missing, pytrace=False)


@pytest.fixture(scope="session")
def our_server() -> Iterator[StartServer]:
    """A server of ours for an app, started at the first call for it."""
    with contextlib.ExitStack() as stack:
        servers: dict[str, ServerProcess] = {}

        def start(app: str) -> ServerProcess:
            if app not in servers:
                servers[app] = stack.enter_context(running(our_command(app), environment=OUR_PLACE))
            return servers[app]

        yield start


@pytest.fixture(scope="session")
def peer_server(peer: Path) -> Iterator[StartServer]:
    """A server of the public package for an app, started at the first call for it."""
    with contextlib.ExitStack() as stack:
        servers: dict[str, ServerProcess] = {}

        def start(app: str) -> ServerProcess:
            if app not in servers:
                servers[app] = stack.enter_context(running(peer_command(app), environment=PEER_PLACE))
            return servers[app]

        yield start
