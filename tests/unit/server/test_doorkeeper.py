import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import OpenEnvError, UnauthorizedError
from openenv_core.server.doorkeeper import PAGE_COOKIE, Doorkeeper, has_body, is_loopback, too_large
from openenv_core.settings import ServerSettings

TOKEN = "s3cret-token~1"
LOOPBACK, PUBLIC = ("127.0.0.1", 8000), ("192.0.2.7", 8000)


def scope(
    kind: str = "http", method: str = "POST", path: str = "/reset", *, server: Any = LOOPBACK, **headers: Any
) -> dict[str, Any]:
    pairs = [
        (name.replace("_", "-").encode(), value.encode("latin-1"))
        for name, values in headers.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    return {"type": kind, "method": method, "path": path, "server": server, "headers": pairs}


def status(keeper: Doorkeeper, request: dict[str, Any]) -> int:
    try:
        keeper.check(request)
    except OpenEnvError as error:
        return error.http_status
    return 200


def keeper(**settings: Any) -> Doorkeeper:
    return Doorkeeper(ServerSettings(**settings))


class TestToken:
    @pytest.mark.parametrize("kind", ["http", "websocket"])
    @pytest.mark.parametrize(
        "given",
        ["", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Bearer ", "Basic !", f"Digest {TOKEN}", "é"],
    )
    def test_anything_but_the_token_is_refused(self, kind: str, given: str) -> None:
        assert status(keeper(token=TOKEN), scope(kind, authorization=given)) == 401

    def test_none_at_all_is_refused(self) -> None:
        assert status(keeper(token=TOKEN), scope()) == 401

    def test_two_are_refused_even_if_one_is_right(self) -> None:
        assert status(keeper(token=TOKEN), scope(authorization=["Bearer wrong", f"Bearer {TOKEN}"])) == 401

    @pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer   {TOKEN} "])
    @pytest.mark.parametrize("kind", ["http", "websocket"])
    def test_the_token_opens(self, kind: str, given: str) -> None:
        assert status(keeper(token=TOKEN), scope(kind, authorization=given)) == 200

    def test_a_browser_s_password_opens_whatever_the_user_name(self) -> None:
        given = base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
        assert status(keeper(token=TOKEN), scope(authorization=f"Basic {given}")) == 200

    def test_the_page_s_cookie_opens_and_does_not_tell_the_token(self) -> None:
        door = keeper(token=TOKEN)
        assert TOKEN not in door.page_cookie
        assert status(door, scope(cookie=f"a=b; {PAGE_COOKIE}={door.page_cookie}")) == 200
        assert status(door, scope(cookie=f"{PAGE_COOKIE}={door.page_cookie[:-1]}0")) == 401
        assert status(door, scope(cookie=f"{PAGE_COOKIE}=")) == 401

    def test_a_cookie_of_another_token_does_not_open(self) -> None:
        other = keeper(token="another")
        assert status(keeper(token=TOKEN), scope(cookie=f"{PAGE_COOKIE}={other.page_cookie}")) == 401

    def test_health_needs_none_and_its_neighbours_do(self) -> None:
        door = keeper(token=TOKEN)
        assert status(door, scope(method="GET", path="/health")) == 200
        assert status(door, scope(method="GET", path="/healthy")) == 401
        assert status(door, scope(method="GET", path="/health/")) == 401
        assert status(door, scope("websocket", path="/health")) == 401
        assert status(door, {**scope(method="GET", path="/below/health"), "root_path": "/below"}) == 200

    def test_without_a_token_nobody_is_asked(self) -> None:
        assert status(keeper(), scope(authorization="Bearer whatever")) == 200

    @given(st.binary(max_size=60))
    def test_whatever_a_header_holds_is_answered(self, noise: bytes) -> None:
        request = scope()
        request["headers"] = [(b"authorization", noise), (b"cookie", noise)]
        with pytest.raises(UnauthorizedError):
            keeper(token=TOKEN).check(request)
        request["headers"] = [(b"host", noise), (b"origin", noise), (b"content-length", noise)]
        assert status(keeper(), request) in (200, 403, 413, 415, 421)


class TestHost:
    @pytest.mark.parametrize(
        "host",
        ["localhost", "localhost:8000", "LOCALHOST", "127.0.0.1:1", "127.9.9.9", "[::1]:8000", "game.localhost"],
    )
    def test_loopback_names_are_always_known(self, host: str) -> None:
        assert status(keeper(), scope(host=host)) == 200
        assert status(keeper(allowed_hosts=("other.test",)), scope(host=host, server=PUBLIC)) == 200

    @pytest.mark.parametrize("host", ["evil.test", "evil.test:8000", "127.0.0.1.evil.test", "localhost.evil.test", ""])
    @pytest.mark.parametrize("kind", ["http", "websocket"])
    def test_a_server_on_loopback_answers_to_no_other(self, kind: str, host: str) -> None:
        assert status(keeper(), scope(kind, "GET", "/health", host=host)) == 421

    def test_two_names_are_none(self) -> None:
        assert status(keeper(), scope(host=["localhost", "evil.test"])) == 421

    def test_what_is_no_browser_may_say_nothing(self) -> None:
        assert status(keeper(), scope()) == 200

    def test_a_public_server_answers_to_any_name_until_it_has_a_list(self) -> None:
        assert status(keeper(), scope(host="any.test", server=PUBLIC)) == 200
        assert status(keeper(allowed_hosts=("my.test",)), scope(host="any.test", server=PUBLIC)) == 421
        assert status(keeper(allowed_hosts=("my.test",)), scope(host="my.test:443", server=PUBLIC)) == 200

    def test_a_list_opens_a_server_on_loopback_to_its_names(self) -> None:
        assert status(keeper(allowed_hosts=("my.test",)), scope(host="My.Test.")) == 200

    @pytest.mark.parametrize(
        ("name", "host", "expected"),
        [
            ("*", "any.test", 200),
            ("*.my.test", "a.my.test", 200),
            ("*.my.test", "my.test", 421),
            ("*.my.test", "notmy.test", 421),
        ],
    )
    def test_stars(self, name: str, host: str, expected: int) -> None:
        assert status(keeper(allowed_hosts=(name,)), scope(host=host)) == expected

    def test_where_it_listens_counts_more_than_where_a_connection_came_in(self) -> None:
        door = keeper()
        door.bound_to = "0.0.0.0"
        assert status(door, scope(host="any.test", server=LOOPBACK)) == 200
        door.bound_to = "127.0.0.1"
        assert status(door, scope(host="any.test", server=LOOPBACK)) == 421

    def test_the_address_itself_is_a_name_for_a_probe_that_knows_no_other(self) -> None:
        assert status(keeper(allowed_hosts=("my.test",)), scope(host="192.0.2.7:8000", server=PUBLIC)) == 200

    def test_a_unix_socket_has_no_address_to_be_rebound(self) -> None:
        assert status(keeper(), scope(host="any.test", server=("/run/openenv.sock", None))) == 200


class TestOrigin:
    FOREIGN = ("https://evil.test", "null", "http://localhost:9999", "http://localhost", "file://", "javascript:x")

    @pytest.mark.parametrize("origin", FOREIGN)
    def test_a_foreign_page_opens_no_socket_and_posts_nothing(self, origin: str) -> None:
        assert status(keeper(), scope("websocket", host="localhost:8000", origin=origin)) == 403
        for method in ("POST", "DELETE", "PUT", "PATCH"):
            assert status(keeper(), scope(method=method, host="localhost:8000", origin=origin)) == 403

    def test_it_may_read_what_its_browser_will_not_show_it(self) -> None:
        assert status(keeper(), scope(method="GET", host="localhost:8000", origin="https://evil.test")) == 200

    @pytest.mark.parametrize("origin", ["http://localhost:8000", "https://localhost:8000", "HTTP://LocalHost:8000"])
    def test_the_server_s_own_page_may(self, origin: str) -> None:
        assert status(keeper(), scope("websocket", host="localhost:8000", origin=origin)) == 200

    def test_pages_on_the_list_may(self) -> None:
        door = keeper(allowed_origins=("https://lab.test",))
        assert status(door, scope(host="localhost:8000", origin="https://lab.test")) == 200
        assert status(door, scope(host="localhost:8000", origin="http://lab.test")) == 403
        assert status(keeper(allowed_origins=("*",)), scope(host="localhost", origin="https://evil.test")) == 200

    def test_the_public_name_of_a_space_may(self) -> None:
        door = keeper(public_host="me-game.hf.space")
        request = scope("websocket", host="10.0.0.1:8000", origin="https://me-game.hf.space", server=PUBLIC)
        assert status(door, request) == 200

    def test_one_foreign_among_two_is_foreign(self) -> None:
        request = scope(host="localhost:8000", origin=["http://localhost:8000", "https://evil.test"])
        assert status(keeper(), request) == 403


class TestBody:
    @pytest.mark.parametrize(
        "kind",
        ["application/json", "Application/JSON; charset=utf-8", "application/problem+json", " application/json "],
    )
    def test_json_is_json(self, kind: str) -> None:
        assert status(keeper(), scope(content_length="5", content_type=kind)) == 200

    @pytest.mark.parametrize("kind", ["text/plain", "application/jsonp", "text/json", "multipart/form-data", ""])
    def test_what_a_form_can_send_is_refused(self, kind: str) -> None:
        assert status(keeper(), scope(content_length="5", content_type=kind)) == 415

    def test_a_body_without_a_kind_is_refused_and_no_body_needs_none(self) -> None:
        assert status(keeper(), scope(content_length="5")) == 415
        assert status(keeper(), scope(transfer_encoding="chunked")) == 415
        assert status(keeper(), scope(content_length="0")) == 200
        assert status(keeper(), scope()) == 200

    def test_a_body_that_says_that_it_is_too_large(self) -> None:
        door = keeper(max_body_bytes=100)
        assert status(door, scope(content_length="100", content_type="application/json")) == 200
        assert status(door, scope(content_length="101", content_type="application/json")) == 413

    def test_a_long_head(self) -> None:
        door = keeper(max_header_bytes=1000)
        assert status(door, scope(x="y" * 500)) == 200
        assert status(door, scope(x="y" * 1000)) == 431
        assert status(door, {**scope(), "query_string": b"y" * 1001}) == 431

    def test_both_sizes_are_told(self) -> None:
        error = too_large(5, 4)
        assert error.details == {"size": 5, "limit": 4}
        assert error.http_status == 413

    def test_a_body_is_announced_by_either_header(self) -> None:
        assert has_body({b"content-length": [b"1"]})
        assert has_body({b"transfer-encoding": [b"chunked"]})
        assert not has_body({b"content-length": [b"0"]})


class TestAdministration:
    def test_with_a_token_whoever_has_it(self) -> None:
        assert keeper(token=TOKEN).administers({"client": ("192.0.2.1", 5)})

    @pytest.mark.parametrize(("client", "may"), [(("127.0.0.1", 5), True), (("192.0.2.1", 5), False), (None, True)])
    def test_without_one_only_this_machine(self, client: Any, may: bool) -> None:
        assert keeper().administers({"client": client}) is may


@pytest.mark.parametrize(
    ("address", "own"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.1.2.3", False)],
)
def test_loopback(address: str, own: bool) -> None:
    assert is_loopback(address) is own
