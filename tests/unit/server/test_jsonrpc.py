import json
from typing import Any

import pytest

from openenv_core.server.jsonrpc import INVALID_REQUEST, JsonRpcError, encode, failure, read_request, success


@pytest.mark.parametrize("request_id", [None, 1, "one"])
def test_a_request_is_read(request_id: Any) -> None:
    request = read_request({"jsonrpc": "2.0", "method": "m", "id": request_id})
    assert (request.method, request.params, request.id) == ("m", {}, request_id)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        5,
        {"jsonrpc": "1.0", "method": "m"},
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "2.0", "method": "m", "params": []},
        {"jsonrpc": "2.0", "method": "m", "id": 1.5},
        {"jsonrpc": "2.0", "method": "m", "extra": 1},
    ],
)
def test_what_is_no_request_is_refused(value: Any) -> None:
    with pytest.raises(JsonRpcError, match="Invalid request") as refused:
        read_request(value)
    assert refused.value.code == INVALID_REQUEST


def test_answers_have_the_keys_of_the_public_protocol() -> None:
    assert json.loads(encode(success(1, {"a": 1}))) == {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    assert json.loads(encode(failure("x", JsonRpcError(-1, "no")))) == {
        "jsonrpc": "2.0",
        "id": "x",
        "error": {"code": -1, "message": "no", "data": None},
    }


def test_an_answer_always_serializes() -> None:
    told = json.loads(encode(success(None, {"a": float("nan"), "b": ValueError("x")})))
    assert told["result"] == {"a": "NaN", "b": "x"}
