"""The long form of these tests runs where ``OPENENV_TEST_LONG`` is set: more rounds, and what takes a minute."""

import os

import pytest

LONG = bool(os.environ.get("OPENENV_TEST_LONG"))


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line("markers", "slow: takes a minute or more; runs where OPENENV_TEST_LONG is set")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes long, and give more time to the long form of the rest."""
    for item in items:
        if "tests/process" not in str(item.path):
            continue
        if LONG:
            item.add_marker(pytest.mark.timeout(1800))
        elif item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes long: set OPENENV_TEST_LONG=1"))


@pytest.fixture(scope="session")
def rounds() -> int:
    """How often to repeat what is left to chance, in tens."""
    return 10 if LONG else 1
