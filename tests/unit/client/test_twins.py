"""The blocking and the awaiting client are the same to whoever uses them."""

import inspect
from typing import Any

import pytest

from openenv_core.client import AsyncEnvClient, EnvClient
from tests.support.clients import AsyncWorld, World
from tests.support.journal import Act, Seen, WorldState

STARTING = {"from_docker_image", "from_env", "from_hub", "from_space"}
"""Their handles give either kind of client."""

OWN = {EnvClient: {"aio", "batch", "sync", *STARTING}, AsyncEnvClient: {"of_types", "sync"}}
"""Ways from one kind of client to another."""


def names(cls: type[Any]) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")} - OWN[cls]


def test_they_have_the_same_names() -> None:
    assert names(EnvClient) == names(AsyncEnvClient)


@pytest.mark.parametrize("name", sorted(names(EnvClient)))
def test_each_name_means_the_same(name: str) -> None:
    blocking, awaiting = inspect.getattr_static(EnvClient, name), inspect.getattr_static(AsyncEnvClient, name)
    assert isinstance(blocking, property) == isinstance(awaiting, property)
    if not inspect.isroutine(blocking):
        return
    assert inspect.iscoroutinefunction(awaiting)
    assert not inspect.iscoroutinefunction(blocking)
    ours, theirs = inspect.signature(blocking), inspect.signature(awaiting)
    # As text: each class has type variables of its own, with the same names.
    assert str(ours) == str(theirs)


def test_they_take_the_same_arguments_in_the_same_order() -> None:
    for cls in (EnvClient, AsyncEnvClient):
        assert str(inspect.signature(cls)) == "(*args: Any, **kwargs: Any) -> None"
        assert cls.__init__.__doc__
    given = {"base_url": "http://127.0.0.1:1", "message_timeout_s": 3.0, "wait_for_capacity_s": 2.0, "token": "t"}
    assert World(**given)._settings == AsyncWorld(**given)._settings


def test_one_is_made_from_the_other() -> None:
    made = World.aio(base_url="http://127.0.0.1:1", message_timeout_s=3.0)
    assert isinstance(made, AsyncEnvClient)
    assert (made.action_type, made.observation_type, made.state_type) == (Act, Seen, WorldState)
    assert made._settings.message_timeout_s == 3.0
    blocking = World("http://127.0.0.1:1")
    assert blocking.sync() is blocking
