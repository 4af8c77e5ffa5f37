"""The tests of backends and of the session manager, once more, with environments in worker processes."""

import pytest

from openenv_core.backends import ProcessBackend
from openenv_core.settings import ServerSettings
from tests.support.journal import BlockingWorld
from tests.support.places import Place
from tests.unit.backends.test_base import *  # noqa: F403 - pytest collects them here as well
from tests.unit.sessions.test_manager import *  # noqa: F403

pytestmark = pytest.mark.anyio


def backend() -> ProcessBackend:
    """With few workers: each costs the time of a Python that starts."""
    return ProcessBackend(ServerSettings(sessions_per_worker=8, spare_workers=0))


@pytest.fixture
def place() -> Place:
    """In the place of the backends that run in this process."""
    return Place("process", backend, BlockingWorld, closes=False)
