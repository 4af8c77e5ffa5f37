import dataclasses
import re
from typing import Any

import pytest

from openenv_core.client import EnvClient
from openenv_core.errors import ConfigurationError
from openenv_core.settings import ClientSettings, ServerSettings

FIELDS = {field.name: field for field in dataclasses.fields(ServerSettings)}


def variable(name: str) -> str:
    found: str = FIELDS[name].metadata["variable"]
    return found


def test_the_defaults_are_what_no_variable_gives() -> None:
    assert ServerSettings.from_environ({}) == ServerSettings()


def test_every_setting_has_a_variable_of_its_own() -> None:
    variables = [variable(name) for name in FIELDS]
    assert len(set(variables)) == len(variables)
    assert all(re.fullmatch(r"[A-Z][A-Z_]+", name) for name in variables)


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if type(field.default) in (int, float)])
def test_every_number_is_read_from_its_variable(name: str) -> None:
    settings = ServerSettings.from_environ({variable(name): "7"})
    assert getattr(settings, name) == 7
    assert settings == dataclasses.replace(ServerSettings(), **{name: getattr(settings, name)})


@pytest.mark.parametrize("text", ["", "abc", "-1", "nan", "inf", "1e400"])
@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if type(field.default) in (int, float)])
def test_a_number_that_cannot_work_is_refused_by_the_name_of_its_variable(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=variable(name)) as caught:
        ServerSettings.from_environ({variable(name): text})
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("name", [name for name in FIELDS if name.endswith(("timeout_s", "grace_s", "deadline_s"))])
def test_no_limit_of_time_is_off_by_default_or_can_be_switched_off_by_a_zero(name: str) -> None:
    assert 0 < getattr(ServerSettings(), name) < float("inf")
    with pytest.raises(ConfigurationError):
        ServerSettings.from_environ({variable(name): "0"})


@pytest.mark.parametrize("text", ["0", "abc", "-3", "1.5"])
def test_the_number_of_sessions_is_a_positive_integer(text: str) -> None:
    with pytest.raises(ConfigurationError, match="MAX_CONCURRENT_ENVS"):
        ServerSettings.from_environ({"MAX_CONCURRENT_ENVS": text})


def test_the_mode_is_one_of_two_words() -> None:
    assert ServerSettings.from_environ({"OPENENV_MODE": "Production"}).mode == "production"
    with pytest.raises(ConfigurationError, match="simulation or production"):
        ServerSettings.from_environ({"OPENENV_MODE": "prod"})


def test_a_variable_goes_before_an_environment_s_own_default_and_an_argument_before_both() -> None:
    assert ServerSettings.from_environ({}, default_max_sessions=64).max_sessions == 64
    given: dict[str, Any] = {"MAX_CONCURRENT_ENVS": "5"}
    assert ServerSettings.from_environ(given, default_max_sessions=64).max_sessions == 5
    assert ServerSettings.from_environ(given, default_max_sessions=64, max_sessions=2).max_sessions == 2
    assert ServerSettings.from_environ(given, max_sessions=None).max_sessions == 5


def test_settings_do_not_change_under_a_server() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ServerSettings().max_sessions = 3  # type: ignore[misc]


def test_the_client_s_settings_are_its_constructor_s_arguments_with_the_same_defaults() -> None:
    client = EnvClient[Any, Any, Any]("http://127.0.0.1:1")
    assert client._settings == ClientSettings()


@pytest.mark.parametrize(
    ("text", "on"), [("true", True), ("1", True), ("YES", True), ("false", False), ("0", False), ("", False)]
)
def test_the_page_is_switched_on_by_the_words_that_the_public_package_knows(text: str, on: bool) -> None:
    assert ServerSettings.from_environ({"ENABLE_WEB_INTERFACE": text}).web_interface is on


def test_a_switch_is_nothing_else() -> None:
    with pytest.raises(ConfigurationError, match="ENABLE_WEB_INTERFACE='maybe'"):
        ServerSettings.from_environ({"ENABLE_WEB_INTERFACE": "maybe"})
