"""Sessions that are nobody's connection: they end all the same."""

from typing import Any

import pytest

from openenv_core.errors import LossReason
from tests.server.tooled import Shop
from tests.server.toys import socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually
from tests.unit.server.test_mcp import ask, call, create


def ended(served: Served) -> dict[str, int]:
    return {str(reason): count for reason, count in served.gateway.manager.ended.items()}


def test_one_that_nobody_uses_ends() -> None:
    with serving(Shop, limits={"http_idle_timeout_s": 0.2}) as served:
        create(served)
        eventually(lambda: served.active == 0)
        assert ended(served) == {"idle_timeout": 1}


def test_one_whose_socket_is_gone_ends_after_the_grace_time() -> None:
    with serving(Shop, limits={"resume_grace_s": 0.2}) as served:
        session = create(served)
        with socket_of(served, f"/ws?session_id={session}"):
            eventually(lambda: served.gateway.manager.sessions[session].holder is not None)
        eventually(lambda: served.active == 0)
        assert ended(served) == {"grace_expired": 1}
        assert call(served, "balance", session)["error"]["code"] == -32602


def test_one_that_is_attached_may_be_silent_for_longer() -> None:
    with serving(Shop, limits={"http_idle_timeout_s": 0.2, "first_message_timeout_s": 0.2}) as served:
        session = create(served)
        with socket_of(served, f"/ws?session_id={session}") as attached:
            other = create(served)
            eventually(lambda: other not in served.gateway.manager.sessions)  # so long has passed
            attached.send('{"type":"state"}')
            assert '"state"' in attached.recv(timeout=LIMIT_S)


@pytest.mark.parametrize("again", ["request", "socket"])
def test_one_that_is_used_again_in_time_goes_on(again: str) -> None:
    with serving(Shop, limits={"resume_grace_s": 30.0}) as served:
        session = create(served)
        found: Any = served.gateway.manager.sessions[session]
        with socket_of(served, f"/ws?session_id={session}") as attached:
            attached.send('{"type":"reset"}')
            attached.recv(timeout=LIMIT_S)
        eventually(lambda: found.lease.detached_since is not None)
        if again == "request":
            assert call(served, "balance", session)["result"]["data"] == 10
        else:
            with socket_of(served, f"/ws?session_id={session}") as attached:
                attached.send('{"type":"state"}')
                assert '"state"' in attached.recv(timeout=LIMIT_S)
                assert found.lease.detached_since is None
        assert served.active == 1
        assert LossReason.GRACE_EXPIRED not in served.gateway.manager.ended


def test_only_one_socket_at_a_time() -> None:
    with serving(Shop) as served:
        session = create(served)
        with (
            socket_of(served, f"/ws?session_id={session}") as first,
            socket_of(served, f"/ws?session_id={session}") as second,
        ):
            assert "already has an attached WebSocket" in second.recv(timeout=LIMIT_S)
            first.send('{"type":"state"}')
            assert '"state"' in first.recv(timeout=LIMIT_S)


def test_killed_clients_leave_no_slot_taken() -> None:
    with serving(Shop, limits={"max_sessions": 2, "resume_grace_s": 0.1}) as served:
        for _ in range(3):
            sockets = []
            for _ in range(2):
                opened = socket_of(served, f"/ws?session_id={create(served)}")
                sockets.append(opened.__enter__())
            for one in sockets:
                one.socket.close()
            eventually(lambda: served.active == 0)
        assert "result" in ask(served, "openenv/session/create")
