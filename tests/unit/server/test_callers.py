from typing import Any

import pytest

from openenv_core.server.callers import caller_of


def scope(client: Any = ("10.0.0.1", 4000), **headers: str) -> dict[str, Any]:
    return {"client": client, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}


def test_a_stranger_is_an_address() -> None:
    caller = caller_of(scope())
    assert caller.address == "10.0.0.1"
    assert caller.credential is None


def test_a_credential_is_told_apart_and_not_kept() -> None:
    one, same, other = (caller_of(scope(authorization=f"Bearer {word}")) for word in ("abc", "abc", "abd"))
    assert one.credential == same.credential
    assert one.credential not in (None, other.credential)
    assert "abc" not in str(one)


@pytest.mark.parametrize("client", [None, ()])
def test_a_caller_without_an_address_is_a_local_one(client: Any) -> None:
    assert caller_of(scope(client=client)).address == "local"


def test_the_port_does_not_tell_callers_apart() -> None:
    assert caller_of(scope()) == caller_of(scope(client=("10.0.0.1", 4001)))
