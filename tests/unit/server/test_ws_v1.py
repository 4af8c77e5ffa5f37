"""Protocol version 1 over real sockets."""

import json
from collections.abc import Iterator

import pytest

from openenv_core.errors import CapacityReachedError, EnvironmentFactoryError, SessionLostError
from openenv_core.server.ws_v1 import SESSION_ENDED_CODE
from openenv_core.wire import openenv_v1 as v1
from tests.support.awkward import BrokenFactory
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.peers import V1Peer
from tests.support.serving import Served, serving
from tests.support.waiting import eventually

MODELS = (Act, Seen, WorldState)


@pytest.fixture
def served(journal: Journal) -> Iterator[Served]:
    with serving(Factory(journal, BlockingWorld), *MODELS, limits={"max_sessions": 2}) as found:
        yield found
        journal.open_all()


@pytest.fixture
def peer(served: Served) -> Iterator[V1Peer]:
    with V1Peer(served.ws_url) as found:
        yield found


def waits(journal: Journal) -> None:
    eventually(lambda: "waits" in journal.events())


def test_replies_come_in_the_order_of_the_requests(peer: V1Peer, journal: Journal) -> None:
    peer.send_text('{"type": "reset", "data": {"seed": 4}}')
    peer.send_text('{"type": "step", "data": {"gate": "later"}}')
    waits(journal)
    for _ in range(3):
        peer.send_text('{"type": "step", "data": {}}')
    peer.send_text('{"type": "nothing"}')
    peer.send_text('{"type": "state"}')
    journal.open_gate("later")
    replies = [peer.receive() for _ in range(7)]
    assert replies[0]["data"]["observation"]["seed"] == 4
    assert [reply["data"]["observation"]["steps"] for reply in replies[1:5]] == [1, 2, 3, 4]
    assert replies[5]["data"]["code"] == "UNKNOWN_TYPE"
    assert replies[6]["data"]["step_count"] == 4


def test_requests_that_come_before_the_environment_is_there_are_answered(journal: Journal) -> None:
    slow = Factory(journal, BlockingWorld, gate="built")
    with serving(slow, *MODELS, limits={"max_sessions": 1}) as served, V1Peer(served.ws_url) as peer:
        peer.send_text('{"type": "reset"}')
        peer.send_text('{"type": "step", "data": {}}')
        eventually(lambda: journal.count("init") == 1)
        journal.open_gate("built")
        assert peer.receive()["data"]["observation"]["steps"] == 0
        assert peer.receive()["data"]["observation"]["steps"] == 1


def test_at_capacity_the_refusal_comes_at_once_and_ends_the_socket(peer: V1Peer, served: Served) -> None:
    peer.reset()
    with V1Peer(served.ws_url) as second:
        second.reset()
        with V1Peer(served.ws_url) as third:
            refusal = v1.error_of(third.receive()["data"])
            assert isinstance(refusal, CapacityReachedError)
            assert refusal.details == {"active_sessions": 2, "max_sessions": 2}
            assert third.end() == (1000, "")
    eventually(lambda: served.active == 1)
    with V1Peer(served.ws_url) as fourth:
        fourth.reset()


def test_an_environment_that_cannot_be_made_ends_the_socket() -> None:
    with serving(BrokenFactory) as served, V1Peer(served.ws_url) as peer:
        assert isinstance(v1.error_of(peer.receive()["data"]), EnvironmentFactoryError)
        assert peer.end() == (1000, "")
        eventually(lambda: served.active == 0)


def test_a_close_ends_the_session_and_the_socket(peer: V1Peer, served: Served, journal: Journal) -> None:
    peer.reset()
    peer.send_text('{"type": "close"}')
    assert peer.end() == (1000, "")
    eventually(lambda: served.active == 0)
    assert journal.count("closed") == journal.count("built")
    assert served.gateway.manager.ended == {"closed": 1}


def test_a_client_that_hangs_up_gives_its_slot_back_when_its_call_has_ended(
    peer: V1Peer, served: Served, journal: Journal
) -> None:
    peer.reset()
    peer.send_text('{"type": "step", "data": {"gate": "later"}}')
    waits(journal)
    peer.hang_up()
    eventually(lambda: not served.gateway.manager.sessions)
    assert served.active == 1
    journal.open_gate("later")
    eventually(lambda: served.active == 0)
    assert journal.events()[-3:] == ["step", "closing", "closed"]
    assert served.gateway.manager.ended == {"disconnected": 1}


def test_an_opening_whose_client_has_gone_ends(journal: Journal) -> None:
    slow = Factory(journal, BlockingWorld, gate="built")
    with serving(slow, *MODELS, limits={"max_sessions": 1}) as served:
        peer = V1Peer(served.ws_url)
        eventually(lambda: journal.count("init") == 1)
        peer.hang_up()
        journal.open_gate("built")
        eventually(lambda: served.active == 0 and journal.count("closed") == 1)


def test_an_unused_session_ends_with_its_reason_in_the_reply_and_the_close(journal: Journal) -> None:
    limits = {"idle_timeout_s": 0.1, "max_sessions": 1}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, V1Peer(served.ws_url) as peer:
        peer.send_text('{"type": "reset"}')
        assert peer.receive()["type"] == "observation"
        told = peer.receive()
        assert told["data"]["code"] == "SESSION_ERROR"
        assert told["data"]["reason"] == "idle_timeout"
        assert peer.end() == (SESSION_ENDED_CODE, "idle_timeout")
        eventually(lambda: served.active == 0)
    assert journal.events()[-2:] == ["closing", "closed"]


def test_a_call_past_its_deadline_ends_the_session_with_its_reason(journal: Journal) -> None:
    limits = {"step_deadline_s": 0.1, "max_sessions": 1}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, V1Peer(served.ws_url) as peer:
        peer.reset()
        with pytest.raises(SessionLostError) as caught:
            peer.step(gate="never")
        assert caught.value.reason == "step_deadline"
        assert peer.end() == (SESSION_ENDED_CODE, "step_deadline")
        eventually(lambda: served.active == 0)
        journal.open_gate("never")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("nothing", "INVALID_JSON"),
        ("[]", "INVALID_JSON"),
        ("[{}]", "INVALID_JSON"),
        ("5", "INVALID_JSON"),
        (b'{"type": "state"}', "INVALID_JSON"),
        (b"\xff\xfe", "INVALID_JSON"),
        ("{}", "UNKNOWN_TYPE"),
        ('{"type": "step"}', "VALIDATION_ERROR"),
    ],
)
def test_noise_is_answered_and_harms_nothing(peer: V1Peer, message: str | bytes, code: str) -> None:
    peer.reset()
    assert peer.ask(message)["data"]["code"] == code
    assert peer.step()["observation"]["steps"] == 1


def test_too_many_requests_ahead_end_the_socket(peer: V1Peer, served: Served, journal: Journal) -> None:
    peer.reset()
    peer.send_text('{"type": "step", "data": {"gate": "later"}}')
    waits(journal)
    for _ in range(257):
        peer.send_text('{"type": "state"}')
    assert "too many requests" in peer.receive()["data"]["message"]
    assert peer.end() == (1008, "too many requests")
    journal.open_gate("later")
    eventually(lambda: served.active == 0)


LIMIT = 4000


@pytest.mark.parametrize(("size", "fits"), [(LIMIT - 1, True), (LIMIT, True), (LIMIT + 1, False)])
def test_the_limit_of_a_message_is_exact(journal: Journal, size: int, fits: bool) -> None:
    bare = len(json.dumps({"type": "step", "data": {"metadata": {"fill": ""}}}))
    message = json.dumps({"type": "step", "data": {"metadata": {"fill": "x" * (size - bare)}}})
    assert len(message) == size
    limits = {"max_message_bytes": LIMIT, "max_sessions": 1}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, V1Peer(served.ws_url) as peer:
        peer.reset()
        peer.send_text(message)
        if fits:
            assert peer.receive()["data"]["observation"]["steps"] == 1
        else:
            assert peer.end()[0] == 1009
            eventually(lambda: served.active == 0)
        with V1Peer(served.ws_url) as other:
            if fits:
                assert other.receive()["data"]["code"] == "CAPACITY_REACHED"
            else:
                other.reset()


def test_every_client_is_told_at_the_end(journal: Journal) -> None:
    with serving(Factory(journal, BlockingWorld), *MODELS) as served:
        peer = V1Peer(served.ws_url)
        peer.reset()
        served.server.should_exit = True
        assert peer.receive()["data"]["reason"] == "shutdown"
        assert peer.end() == (SESSION_ENDED_CODE, "shutdown")
    assert journal.count("closed") == journal.count("built")
