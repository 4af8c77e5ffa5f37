"""JSON-RPC 2.0, as the public protocol speaks it: requests and answers."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "SERVER_ERROR",
    "JsonRpcError",
    "JsonRpcRequest",
    "encode",
    "failure",
    "read_request",
    "success",
]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = -32602, -32603, -32000


class JsonRpcRequest(BaseModel):
    """One request. Without an ``id`` it is answered all the same, as the public protocol does."""

    model_config = ConfigDict(extra="forbid")

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] = {}
    id: str | int | None = None


class JsonRpcError(Exception):
    """What an error answer says."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def read_request(value: Any) -> JsonRpcRequest:
    """A request from what was sent as JSON.

    Raises:
        JsonRpcError: it is none.
    """
    try:
        return JsonRpcRequest.model_validate(value)
    except ValidationError as error:
        raise JsonRpcError(INVALID_REQUEST, f"Invalid request: {error}") from None


def success(request_id: str | int | None, result: Any) -> dict[str, Any]:
    """An answer with a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure(request_id: str | int | None, error: JsonRpcError) -> dict[str, Any]:
    """An answer with an error."""
    told = {"code": error.code, "message": error.message, "data": error.data}
    return {"jsonrpc": "2.0", "id": request_id, "error": told}


def encode(answer: dict[str, Any]) -> bytes:
    """An answer as JSON."""
    return to_json(answer, fallback=str, inf_nan_mode="strings")
