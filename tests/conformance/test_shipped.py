"""The environments that are installed here keep what every environment promises."""

import pytest

from openenv_core import conformance
from openenv_core.errors import ConfigurationError
from openenv_core.targets import installed

pytestmark = pytest.mark.timeout(240)  # one of the checks starts another process

MISSING: dict[str, str] = {}
"""Environments whose own dependencies are not installed here, and what is missing."""

for _name in installed():
    _class_name = "Test" + "".join(part.capitalize() for part in _name.split("_"))
    try:
        globals()[_class_name] = conformance.suite(_name)
    except ConfigurationError as _error:
        MISSING[_name] = _error.message


@pytest.mark.parametrize("name", installed())
def test_every_installed_environment_is_checked(name: str) -> None:
    if name in MISSING:
        pytest.skip(MISSING[name])
