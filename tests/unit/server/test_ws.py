import json
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from openenv_core.wire.frames import SUBPROTOCOL
from tests.support.awkward import AwkwardInline
from tests.support.peers import V1Peer, V2Peer
from tests.support.serving import Served, serving
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(AwkwardInline) as found:
        yield found


def test_whoever_offers_version_2_gets_it_and_nobody_else(served: Served) -> None:
    with V2Peer(served.ws_url) as peer:
        assert peer.hello["data"]["protocol"] == 2
    for offered in (None, ["chat"], ["openenv.v3", "chat"]):
        with V1Peer(served.ws_url, subprotocols=offered) as other:
            assert other.socket.subprotocol is None
            assert "observation" in other.reset()
    with V1Peer(served.ws_url, subprotocols=["chat", SUBPROTOCOL]) as both:
        assert both.socket.subprotocol == SUBPROTOCOL


def test_a_session_that_was_made_elsewhere_is_not_silently_another(served: Served) -> None:
    opened = served.gateway.manager.opened
    with V1Peer(f"{served.ws_url}?session_id=abc") as peer:
        told = peer.receive()
        assert told["data"]["code"] == "SESSION_ERROR"
        assert "Unknown session_id: abc" in told["data"]["message"]
        assert peer.end() == (1000, "")
    assert served.gateway.manager.opened == opened


def test_a_socket_that_says_nothing_ends(tmp_path: object) -> None:
    with serving(AwkwardInline, limits={"first_message_timeout_s": 0.1, "max_sessions": 1}) as served:
        with V1Peer(served.ws_url) as first:
            assert first.end()[1] == "idle_timeout"
        eventually(lambda: served.active == 0)
        with V2Peer(served.ws_url) as second:
            assert second.end() == (1008, "idle_timeout")


def test_there_is_no_socket_elsewhere(served: Served) -> None:
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(served.ws_url.replace("/ws", "/other"), proxy=None),
    ):
        pass
    assert caught.value.response.status_code in (403, 404)


def test_a_large_message_may_come_in_pieces(served: Served) -> None:
    with V1Peer(served.ws_url) as peer:
        text = json.dumps({"type": "reset", "data": {"size": 300_000}})
        peer.socket.send(iter([text[:10], text[10:20], text[20:]]))
        assert len(peer.receive()["data"]["observation"]["value"]) == 300_000
