"""What tests of the framework's modules share."""

import pytest

from tests.support.places import PLACES, Place


@pytest.fixture(params=PLACES, ids=lambda place: place.name)
def place(request: pytest.FixtureRequest) -> Place:
    """Every backend in turn."""
    found: Place = request.param
    return found
