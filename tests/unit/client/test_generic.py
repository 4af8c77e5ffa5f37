from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from openenv_core.client import GenericAction, GenericEnvClient
from openenv_core.errors import UnknownResetOptionError, ValidationFailedError
from tests.support.awkward import AwkwardInline, Do
from tests.support.serving import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(AwkwardInline) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[GenericEnvClient]:
    with GenericEnvClient(served.base_url) as found:
        yield found


def test_an_episode_of_plain_values(client: GenericEnvClient) -> None:
    started = client.reset(mood="bad")
    assert started.observation["value"] == "bad"
    result = client.step({"word": "go"})
    assert result.observation["steps"] == 1
    assert (result.reward, result.done) == (0.5, False)
    assert not {"reward", "done", "truncated"} & set(result.observation)
    assert client.state()["step_count"] == 1
    assert client.step({"word": "end"}).done


@pytest.mark.parametrize(
    "action", [{"word": "go"}, GenericAction(word="go"), Do(word="go"), SimpleNamespace(word="go")]
)
def test_every_form_of_an_action(client: GenericEnvClient, action: object) -> None:
    client.reset()
    assert client.step(action).observation["steps"] == 1


def test_the_server_checks_what_this_client_cannot(client: GenericEnvClient) -> None:
    client.reset()
    with pytest.raises(ValidationFailedError, match="wrod"):
        client.step({"wrod": "go"})
    with pytest.raises(UnknownResetOptionError, match="sede"):
        client.reset(sede=1)
    assert client.step({"word": "go"}).observation["steps"] == 1
