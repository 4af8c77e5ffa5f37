"""Limits by caller, and sockets that hold on to something without asking for anything."""

import contextlib
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from openenv_core.client import GenericEnvClient
from openenv_core.errors import CapacityReachedError
from tests.support.serving import serving
from tests.support.waiting import LIMIT_S, eventually

from .toys import Parrot, post, socket_of

OPEN = '{"id":1,"type":"open","data":{"wait_s":%s}}'


def error_of(text: str) -> dict[str, Any]:
    frame: dict[str, Any] = json.loads(text)
    assert frame["type"] == "error"
    data: dict[str, Any] = frame["data"]
    return data


class TestSessionsPerCaller:
    def test_one_caller_does_not_get_all_slots(self) -> None:
        limits = {"max_sessions": 8, "max_sessions_per_caller": 2}
        with serving(Parrot, limits=limits) as served, contextlib.ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(GenericEnvClient(served.base_url)).reset()
            with pytest.raises(CapacityReachedError) as caught:
                stack.enter_context(GenericEnvClient(served.base_url)).reset()
            assert caught.value.details["max_sessions_per_caller"] == 2
            with socket_of(served) as v1:
                refusal = error_of(v1.recv(timeout=LIMIT_S))
            assert (refusal["code"], refusal["active_sessions"]) == ("CAPACITY_REACHED", 2)
            assert post(served, "/reset").status_code == 503
            assert served.active == 2

    def test_a_slot_that_is_given_back_may_be_taken_again(self) -> None:
        with serving(Parrot, limits={"max_sessions_per_caller": 1}) as served:
            for _ in range(3):
                with GenericEnvClient(served.base_url) as client:
                    client.reset()


class TestProxies:
    LIMITS = {"max_sessions_per_caller": 1, "max_sessions": 4}

    def test_whoever_asks_is_not_believed(self) -> None:
        with serving(Parrot, limits=self.LIMITS) as served:
            assert post(served, "/reset", X_Forwarded_For="192.0.2.1").status_code == 200
            assert post(served, "/reset", X_Forwarded_For="192.0.2.2").status_code == 503

    @pytest.mark.parametrize("proxies", [("127.0.0.1",), ("127.0.0.0/8",), ("*",)])
    def test_a_proxy_on_the_list_is(self, proxies: tuple[str, ...]) -> None:
        with serving(Parrot, limits={**self.LIMITS, "trusted_proxies": proxies}) as served:
            assert post(served, "/reset", X_Forwarded_For="192.0.2.1").status_code == 200
            assert post(served, "/reset", X_Forwarded_For="192.0.2.2").status_code == 200
            assert post(served, "/reset", X_Forwarded_For="192.0.2.2").status_code == 503
            callers = {session.ticket.caller for session in served.gateway.manager.sessions.values()}
            assert callers == {"192.0.2.1", "192.0.2.2"}


class TestOpensPerSecond:
    def test_who_does_not_wait_is_refused_and_told_when_to_come_back(self) -> None:
        with serving(Parrot, limits={"max_opens_per_second": 0.01}) as served:
            assert post(served, "/reset").status_code == 200
            refused = post(served, "/reset")
            assert (refused.status_code, refused.json()["code"]) == (503, "CAPACITY_REACHED")
            assert 90 <= int(refused.headers["retry-after"]) <= 100
            assert served.gateway.manager.opened == 1

    def test_who_waits_gets_in(self) -> None:
        with serving(Parrot, limits={"max_opens_per_second": 2}) as served, socket_of(served, v2=True) as v2:
            v2.recv(timeout=LIMIT_S)
            opened: list[Any] = []
            for number in range(1, 5):
                v2.send(OPEN.replace('"id":1', f'"id":{number}') % 10)
            while len(opened) < 4:
                frames = json.loads(v2.recv(timeout=LIMIT_S))
                opened += frames if isinstance(frames, list) else [frames]
            assert {frame["type"] for frame in opened} == {"opened"}


class TestSilence:
    def test_a_socket_that_asks_for_nothing_gives_its_slot_back_and_is_told_why(self) -> None:
        with serving(Parrot, limits={"first_message_timeout_s": 0.2}) as served, socket_of(served) as v1:
            eventually(lambda: served.gateway.manager.opened == 1)
            told = error_of(v1.recv(timeout=LIMIT_S))
            assert (told["error"], told["reason"]) == ("SESSION_LOST", "idle_timeout")
            with pytest.raises(ConnectionClosed) as closed:
                v1.recv(timeout=LIMIT_S)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4000, "idle_timeout")
            eventually(lambda: served.active == 0)

    def test_one_that_asked_once_may_be_silent(self) -> None:
        limits = {"first_message_timeout_s": 0.2}
        with serving(Parrot, limits=limits) as served, socket_of(served) as v1, socket_of(served) as silent:
            v1.send('{"type":"state"}')
            assert '"state"' in v1.recv(timeout=LIMIT_S)
            error_of(silent.recv(timeout=LIMIT_S))  # so long has passed
            v1.send('{"type":"state"}')
            assert '"state"' in v1.recv(timeout=LIMIT_S)

    def test_a_socket_of_version_2_holds_no_slot_and_is_closed_all_the_same(self) -> None:
        with serving(Parrot, limits={"first_message_timeout_s": 0.2}) as served, socket_of(served, v2=True) as v2:
            v2.recv(timeout=LIMIT_S)
            assert served.active == 0
            with pytest.raises(ConnectionClosed) as closed:
                v2.recv(timeout=LIMIT_S)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008


class TestSizes:
    @pytest.mark.parametrize("v2", [False, True])
    def test_a_message_over_the_limit_ends_its_socket_with_1009_and_no_other(self, v2: bool) -> None:
        with serving(Parrot, limits={"max_message_bytes": 1000}) as served, GenericEnvClient(served.base_url) as other:
            other.reset()
            with socket_of(served, v2=v2) as opened:
                if v2:
                    opened.recv(timeout=LIMIT_S)  # the greeting
                opened.send('{"type":"state","x":"' + "y" * 1000 + '"}')
                with pytest.raises(ConnectionClosed) as closed:
                    opened.recv(timeout=LIMIT_S)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1009
            assert other.step({"text": "still here"}).reward == 10

    def test_deep_json_on_a_socket_is_an_error_reply_and_the_session_lives(self) -> None:
        with serving(Parrot, limits={"max_nesting": 20}) as served, socket_of(served) as v1:
            for kind in ("step", "reset", "mcp"):
                deep = "[" * 50_000 + "]" * 50_000
                v1.send(f'{{"type":"{kind}","data":{{"metadata":{{"x":{deep}}}}}}}')
                assert error_of(v1.recv(timeout=LIMIT_S))["code"] == "INVALID_JSON"
            v1.send('{"type":"state"}')
            assert '"state"' in v1.recv(timeout=LIMIT_S)

    def test_deep_json_in_version_2_is_an_error_frame(self) -> None:
        with serving(Parrot) as served, socket_of(served, v2=True) as v2:
            v2.recv(timeout=LIMIT_S)
            v2.send('{"id":1,"type":"open","data":' + "[" * 50_000 + "]" * 50_000 + "}")
            assert error_of(v2.recv(timeout=LIMIT_S))["code"] == "INVALID_JSON"
            v2.send(OPEN % 0)
            assert '"opened"' in v2.recv(timeout=LIMIT_S)
