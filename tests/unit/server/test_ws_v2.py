"""Protocol version 2 over real sockets, spoken by a peer that can do what no client of ours would."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openenv_core.errors import SessionLostError, UnauthorizedError
from tests.support.journal import Act, BlockingWorld, Factory, Journal, Seen, WorldState
from tests.support.peers import V2Peer, frame
from tests.support.serving import Served, serving
from tests.support.waiting import eventually

MODELS = (Act, Seen, WorldState)


@pytest.fixture
def served(journal: Journal) -> Iterator[Served]:
    with serving(Factory(journal, BlockingWorld), *MODELS, limits={"max_sessions": 3, "resume_grace_s": 30.0}) as found:
        yield found
        journal.open_all()


@pytest.fixture
def peer(served: Served) -> Iterator[V2Peer]:
    with V2Peer(served.ws_url) as found:
        yield found


def waits(journal: Journal) -> None:
    """Wait until a call waits for its gate."""
    eventually(lambda: "waits" in journal.events())


def test_the_greeting_says_who_speaks_and_what_is_allowed(peer: V2Peer, served: Served) -> None:
    assert peer.hello["type"] == "hello"
    data = peer.hello["data"]
    assert (data["protocol"], data["env_name"]) == (2, "toy")
    assert data["server"].startswith("openenv-core/")
    assert data["limits"]["max_message_bytes"] == served.gateway.settings.max_message_bytes
    assert data["capacity"] == {"active": 0, "max": 3, "queued": 0}


def test_many_sessions_on_one_socket_are_kept_apart(peer: V2Peer) -> None:
    sessions = [peer.open()[0] for _ in range(3)]
    for number, session in enumerate(sessions):
        peer.value("reset", session, data={"seed": number})
    for count in range(1, 4):
        for session in sessions:
            peer.send(frame("step", peer.next_id(), session, data={"reward": count}))
    ids = range(peer._last_id - 8, peer._last_id + 1)
    answers = peer.answers(*ids)
    assert [answer["session"] for answer in answers] == sessions * 3
    assert [answer["data"]["steps"] for answer in answers] == [1] * 3 + [2] * 3 + [3] * 3
    assert len({answer["data"]["world"] for answer in answers}) == 3


def test_frames_of_one_message_are_answered_in_their_order(peer: V2Peer) -> None:
    session, _ = peer.open()
    peer.send(
        frame("reset", 11, session, data={"seed": 5}),
        frame("step", 12, session, data={}),
        frame("step", 13, session, data={}),
        frame("state", 14, session),
    )
    reset, first, second, state = peer.answers(11, 12, 13, 14)
    assert reset["data"]["seed"] == 5
    assert (first["data"]["steps"], second["data"]["steps"], state["data"]["step_count"]) == (1, 2, 2)


def test_a_request_that_is_sent_again_runs_once(peer: V2Peer, journal: Journal) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    again = frame("step", peer.next_id(), session, data={"reward": 1.0})
    peer.send(again)
    first = peer.answer(again["id"])
    peer.send(again)
    assert peer.answer(again["id"]) == first
    assert journal.count("step") == 1


def test_a_request_that_runs_and_is_sent_again_on_another_socket_runs_once(
    peer: V2Peer, served: Served, journal: Journal
) -> None:
    session, token = peer.open()
    peer.value("reset", session)
    pending = frame("step", 50, session, data={"gate": "later"})
    peer.send(pending)
    waits(journal)
    peer.hang_up()
    with V2Peer(served.ws_url) as back:
        back.send(frame("open", 51, data={"session": session, "token": token}), pending)
        resumed = back.answer(51)
        assert (resumed["type"], resumed["data"]) == ("resumed", {"last_id": 50})
        journal.open_gate("later")
        assert back.answer(50)["data"]["steps"] == 1
        assert back.value("step", session, data={})["type"] == "error" if back._last_id >= 50 else True
        back._last_id = 60
        assert back.value("step", session, data={})["data"]["steps"] == 2
    assert journal.count("step") == 2


def test_a_request_that_was_answered_into_the_void_is_answered_from_memory(
    peer: V2Peer, served: Served, journal: Journal
) -> None:
    session, token = peer.open()
    peer.value("reset", session)
    pending = frame("step", 50, session, data={"gate": "later", "reward": 2.0})
    peer.send(pending)
    waits(journal)
    peer.hang_up()
    journal.open_gate("later")
    eventually(lambda: journal.count("step") == 1)
    with V2Peer(served.ws_url) as back:
        back.send(frame("open", 51, data={"session": session, "token": token}), pending)
        answers = back.answers(51, 50)
        assert answers[1]["data"]["reward"] == 2.0
    assert journal.count("step") == 1


def test_an_old_request_is_refused_rather_than_run_again(peer: V2Peer, journal: Journal) -> None:
    session, _ = peer.open()
    peer.send(frame("reset", 20, session), frame("step", 21, session, data={}))
    peer.answers(20, 21)
    peer.send(frame("reset", 20, session))
    refused = peer.answer(20)
    assert refused["data"]["code"] == "PROTOCOL_ERROR"
    assert "request 20 is older than request 21" in refused["data"]["message"]
    assert journal.count("reset") == 1


def test_a_session_is_taken_up_with_its_token_only(peer: V2Peer, served: Served) -> None:
    session, token = peer.open()
    with V2Peer(served.ws_url) as thief:
        for guess in ("", "wrong", token[:-1], session):
            data = {"session": session, "token": guess} if guess else {"session": session}
            with pytest.raises(UnauthorizedError):
                thief.value("open", data=data)
        with pytest.raises(UnauthorizedError, match="not attached to this connection"):
            thief.value("step", session, data={})
        with pytest.raises(UnauthorizedError):
            thief.value("close", session)
    assert peer.value("reset", session)["data"]["steps"] == 0


def test_a_session_that_was_taken_up_elsewhere_is_no_longer_this_connection_s(peer: V2Peer, served: Served) -> None:
    session, token = peer.open()
    peer.value("reset", session)
    with V2Peer(served.ws_url) as other:
        other._last_id = 100
        other.value("open", data={"session": session, "token": token})
        assert other.value("step", session, data={})["data"]["steps"] == 1
        for request in ("step", "close"):
            with pytest.raises(UnauthorizedError, match="not attached to this connection"):
                peer.value(request, session, **({"data": {}} if request == "step" else {}))
        peer.socket.close()
        assert other.value("step", session, data={})["data"]["steps"] == 2


def test_an_unknown_session_is_lost_not_forbidden(peer: V2Peer) -> None:
    with pytest.raises(SessionLostError) as resumed:
        peer.value("open", data={"session": "0" * 32, "token": "t"})
    with pytest.raises(SessionLostError) as asked:
        peer.value("state", "0" * 32)
    assert resumed.value.reason == asked.value.reason == "server_restarted"


def test_at_capacity_an_opening_waits_in_line_and_is_told_its_place(peer: V2Peer) -> None:
    sessions = [peer.open()[0] for _ in range(3)]
    refused = peer.ask("open")
    assert refused["data"]["code"] == "CAPACITY_REACHED"
    assert refused["data"]["details"] == {"active_sessions": 3, "max_sessions": 3}
    assert refused["data"]["retryable"] is True
    first, second = peer.next_id(), peer.next_id()
    peer.send(frame("open", first, data={"wait_s": 60}), frame("open", second, data={"wait_s": 60}))
    told = [peer.next() for _ in range(2)]
    assert [(place["type"], place["id"], place["data"]) for place in told] == [
        ("queued", first, {"position": 1}),
        ("queued", second, {"position": 2}),
    ]
    peer.value("close", sessions[0])
    assert peer.answer(first)["type"] == "opened"
    peer.value("close", sessions[1])
    assert peer.answer(second)["type"] == "opened"


def test_a_place_in_line_can_be_given_up(peer: V2Peer, served: Served) -> None:
    sessions = [peer.open()[0] for _ in range(3)]
    waiting = peer.next_id()
    peer.send(frame("open", waiting, data={"wait_s": 60}))
    assert peer.next()["type"] == "queued"
    peer.send(frame("cancel", waiting))
    assert peer.answer(waiting)["data"]["code"] == "CANCELLED"
    assert served.gateway.manager.admission.queued == 0
    peer.value("close", sessions[0])
    assert peer.ask("open")["type"] == "opened"


def test_an_opening_that_is_given_up_in_the_same_message_is_answered(peer: V2Peer, served: Served) -> None:
    for _ in range(3):
        peer.open()
    peer.send(frame("open", 90, data={"wait_s": 60}), frame("cancel", 90))
    assert peer.answer(90)["data"]["code"] == "CANCELLED"


def test_a_call_that_waits_can_be_given_up_and_one_that_runs_cannot(peer: V2Peer, journal: Journal) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    running, waiting = peer.next_id(), peer.next_id()
    peer.send(
        frame("step", running, session, data={"gate": "later"}),
        frame("step", waiting, session, data={}),
        frame("cancel", waiting),
        frame("cancel", running),
    )
    assert peer.answer(waiting)["data"]["code"] == "CANCELLED"
    peer.send(frame("cancel", waiting), frame("cancel", 9999))  # nothing to cancel is nothing to say
    journal.open_gate("later")
    assert peer.answer(running)["data"]["steps"] == 1
    assert peer.value("step", session, data={})["data"]["steps"] == 2


def test_a_close_is_answered_when_the_slot_is_free(peer: V2Peer, served: Served, journal: Journal) -> None:
    session, _ = peer.open()
    closed = peer.value("close", session)
    assert (closed["type"], closed["data"]["reason"]) == ("closed", "closed")
    assert served.active == 0
    assert journal.count("closed") == journal.count("built")
    with pytest.raises(SessionLostError) as caught:
        peer.value("close", session)
    assert caught.value.reason == "closed"


def test_a_close_lets_the_running_call_finish_and_answers_it_first(peer: V2Peer, journal: Journal) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    peer.send(frame("step", 30, session, data={"gate": "later"}))
    waits(journal)
    peer.send(frame("step", 31, session, data={}), frame("close", 32, session), frame("step", 33, session, data={}))
    assert peer.answer(33)["data"]["details"] == {"reason": "closed"}
    journal.open_gate("later")
    running, waiting, closed = peer.answers(30, 31, 32)
    assert running["data"]["steps"] == 1
    assert waiting["data"]["details"] == {"reason": "closed"}
    assert closed["type"] == "closed"


def test_whoever_closes_and_hangs_up_in_one_breath_means_both(peer: V2Peer, served: Served, journal: Journal) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    peer.send(frame("step", 30, session, data={"gate": "later"}))
    waits(journal)
    peer.send(frame("close", 31, session))
    peer.hang_up()
    journal.open_gate("later")
    eventually(lambda: served.active == 0)
    assert journal.events()[-2:] == ["closing", "closed"]
    assert served.gateway.manager.ended == {"closed": 1}


def test_an_opening_whose_client_has_gone_ends(journal: Journal) -> None:
    slow = Factory(journal, BlockingWorld, gate="built")
    with serving(slow, *MODELS, limits={"max_sessions": 1}) as other:
        peer = V2Peer(other.ws_url)
        peer.send(frame("open", 1))
        eventually(lambda: journal.count("init") == 1)
        peer.hang_up()
        journal.open_gate("built")
        eventually(lambda: other.active == 0 and journal.count("closed") == 1)


def test_the_client_of_a_session_that_ends_by_itself_is_told_at_once(journal: Journal) -> None:
    limits = {"idle_timeout_s": 0.1, "max_sessions": 2}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, V2Peer(served.ws_url) as peer:
        session, token = peer.open()
        told = peer.answer(None)
        assert (told["type"], told["session"], told["data"]["reason"]) == ("closed", session, "idle_timeout")
        for request in ("state", "close"):
            with pytest.raises(SessionLostError) as caught:
                peer.value(request, session)
            assert caught.value.reason == "idle_timeout"
        with pytest.raises(SessionLostError) as caught:
            peer.value("open", data={"session": session, "token": token})
        assert caught.value.reason == "idle_timeout"


def test_a_call_past_its_limit_is_answered_once_and_the_session_is_gone(peer: V2Peer, served: Served) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    with pytest.raises(SessionLostError, match="step took longer") as caught:
        peer.value("step", session, data={"gate": "never"}, timeout_s=0.1)
    assert caught.value.reason == "step_deadline"
    told = peer.answer(None)
    assert (told["type"], told["data"]["reason"]) == ("closed", "step_deadline")
    eventually(lambda: served.active == 0)


def test_too_many_calls_ahead_are_refused_and_the_session_lives(journal: Journal) -> None:
    limits = {"max_pipelined": 4, "max_sessions": 1}
    with serving(Factory(journal, BlockingWorld), *MODELS, limits=limits) as served, V2Peer(served.ws_url) as peer:
        session, _ = peer.open()
        peer.value("reset", session)
        ids = [peer.next_id() for _ in range(8)]
        peer.send(*(frame("step", number, session, data={"gate": "later"}) for number in ids))
        refused = peer.answers(*ids[4:])
        assert {answer["data"]["code"] for answer in refused} == {"PROTOCOL_ERROR"}
        journal.open_gate("later")
        assert [answer["data"]["steps"] for answer in peer.answers(*ids[:4])] == [1, 2, 3, 4]
        assert peer.value("step", session, data={})["data"]["steps"] == 5


@pytest.mark.parametrize(
    "message", ["nothing", "[]", "5", "null", '{"type": "hello"}', '[{"type": "step"}, 5]', "[[[]]]"]
)
def test_noise_is_answered_and_harms_nothing(peer: V2Peer, message: str) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    peer.send_text(message)
    assert peer.answer(None)["data"]["code"] in {"INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR"}
    assert peer.value("step", session, data={})["data"]["steps"] == 1


def test_a_binary_frame_is_answered_and_harms_nothing(peer: V2Peer) -> None:
    session, _ = peer.open()
    peer.send_text(json.dumps(frame("reset", 5, session)).encode())
    assert peer.answer(None)["data"]["code"] == "INVALID_JSON"
    assert peer.value("reset", session)["data"]["steps"] == 0


def test_a_wrong_frame_is_answered_under_its_own_id(peer: V2Peer) -> None:
    session, _ = peer.open()
    wrong = peer.ask("step", session, data={}, colour="red")
    assert (wrong["data"]["code"], wrong["session"]) == ("VALIDATION_ERROR", session)
    assert "colour" in wrong["data"]["message"]


LIMIT = 4000


def padded(session: str, size: int) -> str:
    """A step of exactly so many bytes."""
    bare = json.dumps(frame("step", 70, session, data={"metadata": {"fill": ""}}))
    return json.dumps(frame("step", 70, session, data={"metadata": {"fill": "x" * (size - len(bare))}}))


@pytest.mark.parametrize(("size", "fits"), [(LIMIT - 1, True), (LIMIT, True), (LIMIT + 1, False)])
def test_the_limit_of_a_message_is_exact_and_the_session_outlives_what_is_over_it(
    journal: Journal, size: int, fits: bool
) -> None:
    with serving(Factory(journal, BlockingWorld), *MODELS, limits={"max_message_bytes": LIMIT}) as served:
        with V2Peer(served.ws_url) as peer:
            session, token = peer.open()
            peer.value("reset", session)
            peer.send_text(padded(session, size))
            if fits:
                assert peer.answer(70)["data"]["steps"] == 1
                return
            code, reason = peer.end()
            assert code == 1009
            assert str(LIMIT) in reason
        with V2Peer(served.ws_url) as back:
            back._last_id = 100
            back.value("open", data={"session": session, "token": token})
            assert back.value("step", session, data={})["data"]["steps"] == 1


def test_answers_that_are_ready_together_may_travel_together(peer: V2Peer) -> None:
    session, _ = peer.open()
    peer.value("reset", session)
    ids = [peer.next_id() for _ in range(100)]
    peer.send(*(frame("step", number, session, data={}) for number in ids))
    assert [answer["data"]["steps"] for answer in peer.answers(*ids)] == list(range(1, 101))


def test_nothing_of_an_environment_runs_on_the_server_s_loop(peer: V2Peer, served: Served, journal: Journal) -> None:
    session, _ = peer.open()
    world = peer.value("reset", session)["data"]["world"]
    peer.value("step", session, data={})
    peer.value("state", session)
    peer.value("close", session)
    found: list[int] = []
    served.loop.call_soon_threadsafe(lambda: found.append(threading.get_ident()))
    eventually(lambda: found)
    assert journal.events(world) == ["init", "built", "reset", "step", "state", "closing", "closed"]
    assert [entry for entry in journal.entries() if entry.world == world and entry.thread == found[0]] == []


def test_at_the_end_every_client_is_told(journal: Journal, tmp_path: Path) -> None:
    with serving(Factory(journal, BlockingWorld), *MODELS) as served:
        peer = V2Peer(served.ws_url)
        session, _ = peer.open()
        served.server.should_exit = True
        told: dict[str, Any] = peer.answer(None)
        assert (told["session"], told["data"]["reason"]) == (session, "shutdown")
        assert peer.end()[0] == 1012
    assert journal.count("closed") == journal.count("built")
