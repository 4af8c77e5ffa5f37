"""The environments that are installed here keep what every environment promises."""

import contextlib

import pytest

from openenv_core import conformance
from openenv_core.errors import ConfigurationError
from openenv_core.targets import installed, load_spec

pytestmark = pytest.mark.timeout(240)  # one of the checks starts another process

for _name in installed():
    with contextlib.suppress(ConfigurationError):
        globals()[f"Test_{_name}"] = conformance.suite(_name)


@pytest.mark.parametrize("name", installed())
def test_every_installed_environment_is_checked(name: str) -> None:
    try:
        load_spec(name)
    except ConfigurationError as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            pytest.skip(f"what it stands on is not installed here: {error.__cause__}")
        raise
    assert f"Test_{name}" in globals()
