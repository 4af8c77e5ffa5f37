import functools
from typing import Any

import pytest

from openenv_core.environment import Environment, EnvironmentSpec
from openenv_core.errors import ConcurrencyConfigurationError, ConfigurationError
from openenv_core.server import ConcurrencyConfig, create_app, create_app_from_spec
from openenv_core.settings import ServerSettings
from openenv_core.types import Action, Observation, State


class Safe(Environment[Action, Observation, State]):
    concurrency_safe = True

    def reset(self) -> Observation:
        return Observation()

    def step(self, action: Action) -> Observation:
        return Observation()


class Inline(Safe):
    execution = "inline"


class Unsafe(Safe):
    concurrency_safe = False


class AsyncClose(Unsafe):
    closed: list[bool] = []

    async def close(self) -> None:
        self.closed.append(True)


class Maker:
    def __call__(self) -> Safe:
        return Safe()


def make_safe() -> Safe:
    return Safe()


def app(env: Any, **arguments: Any) -> Any:
    return create_app(env, Action, Observation, **{"settings": ServerSettings(), **arguments})


def settings_of(built: Any) -> ServerSettings:
    settings: ServerSettings = built.state.gateway.settings
    return settings


def backend_of(built: Any) -> str:
    name: str = built.state.gateway.manager.backend.name
    return name


def test_an_instance_is_refused_in_one_sentence() -> None:
    with pytest.raises(TypeError, match="needs a factory, not an instance: pass the class Safe itself"):
        app(Safe())


@pytest.mark.parametrize(
    "factory", [Safe, make_safe, lambda: Safe(), functools.partial(Safe), Maker()], ids=lambda f: type(f).__name__
)
def test_whatever_makes_an_environment_is_accepted(factory: Any) -> None:
    assert settings_of(app(factory, max_concurrent_envs=4)).max_sessions == 4


@pytest.mark.parametrize(
    "factory", [Unsafe, functools.partial(Unsafe), lambda: Unsafe()], ids=["class", "partial", "f"]
)
def test_more_than_one_session_needs_a_class_that_allows_it(factory: Any) -> None:
    app(factory)
    with pytest.raises(ConcurrencyConfigurationError, match="Unsafe does not say that its instances") as caught:
        app(factory, max_concurrent_envs=2)
    assert "concurrency_safe = True" in caught.value.message


def test_looking_at_what_a_factory_makes_closes_it_however_it_closes() -> None:
    with pytest.raises(ConcurrencyConfigurationError):
        app(lambda: AsyncClose(), max_concurrent_envs=2)
    assert AsyncClose.closed == [True]


def test_what_is_no_environment_is_refused_before_a_port_is_opened() -> None:
    with pytest.raises(ConfigurationError, match="int is not an environment"):
        app(int, max_concurrent_envs=2)


def test_limits_can_be_given_in_either_of_the_public_package_s_ways_and_not_in_both() -> None:
    config = ConcurrencyConfig(max_concurrent_envs=3, session_timeout=7.0)
    built = settings_of(app(Safe, concurrency_config=config))
    assert (built.max_sessions, built.idle_timeout_s) == (3, 7.0)
    with pytest.raises(ConfigurationError, match="not both"):
        app(Safe, concurrency_config=config, max_concurrent_envs=3)
    with pytest.raises(ConfigurationError, match="max_concurrent_envs is 0"):
        app(Safe, max_concurrent_envs=0)


def test_a_limit_of_sessions_does_not_switch_the_idle_time_off() -> None:
    default = ServerSettings().idle_timeout_s
    assert settings_of(app(Safe, max_concurrent_envs=9)).idle_timeout_s == default
    assert settings_of(app(Safe, concurrency_config=ConcurrencyConfig(9))).idle_timeout_s == default


def test_the_class_says_where_it_runs() -> None:
    assert backend_of(app(Inline)) == "inline"
    assert backend_of(app(Safe)) == "thread"
    assert backend_of(app(lambda: Inline())) == "thread"  # what suits every class, where the class is not known


def test_the_environment_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_CONCURRENT_ENVS", "5")
    assert settings_of(create_app(Safe, Action, Observation)).max_sessions == 5
    monkeypatch.setenv("MAX_CONCURRENT_ENVS", "many")
    with pytest.raises(ConfigurationError, match="MAX_CONCURRENT_ENVS='many'"):
        create_app(Safe, Action, Observation)


def test_a_spec_has_a_number_of_sessions_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = EnvironmentSpec("safe", Safe, "client:Safe", max_sessions=12)
    monkeypatch.delenv("MAX_CONCURRENT_ENVS", raising=False)
    built = create_app_from_spec(spec)
    assert settings_of(built).max_sessions == 12
    assert built.state.gateway.env_name == "safe"
    monkeypatch.setenv("MAX_CONCURRENT_ENVS", "2")
    assert settings_of(create_app_from_spec(spec)).max_sessions == 2


def test_positional_arguments_are_the_public_package_s() -> None:
    built = create_app(Safe, Action, Observation, "named", 3)
    assert (built.state.gateway.env_name, settings_of(built).max_sessions) == ("named", 3)
