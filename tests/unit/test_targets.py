"""What a text that names an environment stands for."""

import sys
from pathlib import Path

import pytest

from openenv_core import targets
from openenv_core.environment import Environment
from openenv_core.errors import ConfigurationError
from openenv_core.types import Action, Observation, State

MODULE = """
from openenv_core.environment import Environment, EnvironmentSpec
from openenv_core.types import Action, Observation, State

class Room(Environment[Action, Observation, State]):
    class Inner:
        pass

    def reset(self, *, seed=None, episode_id=None):
        return Observation()

    def step(self, action):
        return Observation()

class Hall(Room):
    concurrency_safe = True

class Cells(Room):
    execution = "process"

spec = EnvironmentSpec(name="room", factory=Room, client="")
number = 3

async def app(scope, receive, send):
    pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the working folder, with a class, a spec, an application and a number."""
    (tmp_path / "room_for_targets.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, "room_for_targets", raising=False)
    return "room_for_targets"


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "wss://host/base/", "localhost:8000", "my-host.example:80/"])
def test_an_address_is_an_address(url: str) -> None:
    assert targets.resolve(url) == targets.Target(url=url)


def test_a_class_of_the_working_folder_becomes_a_spec_with_its_own_models(module: str) -> None:
    spec = targets.resolve(f"{module}:Room").spec
    assert spec is not None
    assert (spec.name, spec.action_type, spec.observation_type, spec.state_type) == ("Room", Action, Observation, State)
    assert issubclass(type(spec.factory()), Environment)


@pytest.mark.parametrize(("name", "sessions"), [("Room", 1), ("Hall", 64), ("Cells", 64)])
def test_a_class_that_does_not_say_that_it_may_be_many_is_served_alone(module: str, name: str, sessions: int) -> None:
    spec = targets.resolve(f"{module}:{name}").spec
    assert spec is not None
    assert spec.max_sessions == sessions


def test_a_spec_and_an_application_are_taken_as_they_are(module: str) -> None:
    assert targets.resolve(f"{module}:spec").spec is targets.load_object(f"{module}:spec")
    assert targets.resolve(f"{module}:app").application is targets.load_object(f"{module}:app")


@pytest.mark.parametrize("name", ["number", "Room.Inner", "missing", "Room.missing"])
def test_anything_else_is_refused_by_name(module: str, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{module}:{name}"):
        targets.resolve(f"{module}:{name}")


def test_a_module_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="no_such_module"):
        targets.resolve("no_such_module:Thing")


def test_an_environment_that_is_not_installed_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigurationError, match="no environment 'no_such_environment' is installed; installed are: "):
        targets.resolve("no_such_environment")


def test_a_gymnasium_environment_takes_arguments() -> None:
    pytest.importorskip("gymnasium")
    spec = targets.resolve('gym:FrozenLake-v1?render_mode=ansi&is_slippery=false&desc=["SG"]').spec
    assert spec is not None
    environment = spec.factory()
    assert environment.reset(seed=1).text.endswith("S\x1b[0mG\n")
    with pytest.raises(ConfigurationError, match="no_such"):
        targets.resolve("gym:FrozenLake-v1?no_such=1")


@pytest.mark.parametrize("path", [":X", ":", "module:", ".module:X", "a b:X", "module:X.", "..:X"])
def test_what_is_no_name_of_an_object_is_told_how_it_is_named(path: str) -> None:
    with pytest.raises(ConfigurationError, match="an object is named module:object"):
        targets.resolve(path)


@pytest.mark.parametrize("name", ["room_for_targets", "room_for_targets.py"])
def test_a_module_of_the_working_folder_is_told_how_its_objects_are_named(module: str, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{module}:Class; gym:ID"):
        targets.resolve(name)
