"""A connection that was closed is left to the next client, where nobody can tell the difference."""

import threading
from collections.abc import Iterator

import pytest

from openenv_core.client import EnvClient
from openenv_core.client._spares import spares
from tests.support.awkward import AwkwardInline, Do, Got, Told
from tests.support.serving import Served, serving
from tests.support.waiting import eventually


class Client(EnvClient[Do, Got, Told]):
    action_type, observation_type, state_type = Do, Got, Told


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(AwkwardInline) as found:
        yield found


def connections(served: Served) -> int:
    """Sockets that the server has open."""
    return len(served.server.server_state.connections)


def test_a_client_takes_over_what_the_last_one_left(served: Served) -> None:
    names = set()
    for _ in range(5):
        with Client(served.base_url) as client:
            client.reset()
            assert client.step(Do()).observation.steps == 1
            assert client.hello is not None
            names.add(client.session_id)
        assert served.active == 0
    assert len(names) == 5
    assert connections(served) == 1


def test_clients_with_other_arguments_do_not(served: Served) -> None:
    with Client(served.base_url) as first:
        first.reset()
    with Client(served.base_url, headers={"X-One": "1"}) as second:
        second.reset()
        assert connections(served) == 2


def test_a_connection_that_ended_meanwhile_is_not_used(served: Served) -> None:
    with Client(served.base_url) as first:
        first.reset()
    for connection in list(served.server.server_state.connections):
        served.loop.call_soon_threadsafe(connection.transport.abort)
    eventually(lambda: connections(served) == 0)
    with Client(served.base_url) as second:
        assert second.reset().observation.value == "good"


def test_a_connection_of_version_2_carries_no_session_from_one_client_to_the_next(served: Served) -> None:
    first = Client(served.base_url)
    first.reset()
    first.step(Do())
    first.close()
    second = Client(served.base_url)
    second.reset()
    assert second.step(Do()).observation.steps == 1
    second.close()


def test_what_nobody_comes_for_is_closed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openenv_core.client._spares.KEPT_S", 0.0)
    with Client(served.base_url) as client:
        client.reset()
    spares.serve_idle()
    assert spares.take(client._connection_key, threading.RLock()) is None
    eventually(lambda: connections(served) == 0)
