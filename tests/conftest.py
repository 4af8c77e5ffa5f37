"""What all tests share."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.journal import Journal
from tests.support.places import OpenOne, Place

# A machine that is busy with other things is slow, and no test here is about time.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)
settings.load_profile("tests")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """``async`` tests (marked ``anyio``) run under asyncio, in its debug mode: it tells of what is never awaited."""
    return "asyncio", {"debug": True}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal. When the test ends, however it ends, whatever still waits for a gate goes on."""
    folder = tmp_path / "journal"
    folder.mkdir()
    kept = Journal(folder)
    yield kept
    kept.open_all()


@pytest.fixture
async def open_one(place: Place, journal: Journal) -> AsyncIterator[OpenOne]:
    """Opens environments in a backend, which is started before and stopped in the end."""
    backend = place.make()
    await backend.start()
    yield lambda **arguments: backend.open(place.factory(journal, **arguments))
    journal.open_all()
    await backend.stop()
