"""What all tests share."""

import signal
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.journal import Journal
from tests.support.places import OpenOne, Place

# A machine that is busy with other things is slow, and no test here is about time.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)
settings.load_profile("tests")


def pytest_configure() -> None:
    """Ctrl-C is heard by what the tests start, also where a shell has put the tests into the background, deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, what shares a browser, a container engine or servers stays in one of them."""
    from xdist.scheduler import LoadScopeScheduling

    class FolderByFolder(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            folder, _, rest = nodeid.partition("::")[0].removeprefix("tests/").partition("/")
            return folder if folder != "unit" else f"{folder}/{rest}"

    return FolderByFolder(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A log may hold what is no text in UTF-8; a worker could not send it to the process that prints it."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode("utf-8")) for name, text in report.sections
    ]
    return report


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
