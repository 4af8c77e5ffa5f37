"""Who is at the other end."""

import hashlib
from dataclasses import dataclass
from typing import Any

__all__ = ["RECORD_HEADER", "Caller", "caller_of"]

RECORD_HEADER = "X-OpenEnv-Record"
"""A client asks for a recording of its episodes by this header with the value 1, or by ``?record=1`` where it cannot
send headers."""

_RECORD_HEADER = RECORD_HEADER.lower().encode()


@dataclass(frozen=True, slots=True)
class Caller:
    """One client, as far as the server can tell.

    Attributes:
        address: its network address; limits by caller and listings go by it.
        credential: a digest of the bearer token it proved itself with, ``None`` for a stranger. A session is resumed
            with the same credential only; the address may change, as a laptop's does.
        record: it asks for a recording of its episodes; the operator decides.
    """

    address: str
    credential: str | None
    record: bool = False


def caller_of(scope: Any) -> Caller:
    """Read the caller off an ASGI scope."""
    client = scope.get("client")
    credential = None
    record = b"record=1" in (scope.get("query_string") or b"").split(b"&")
    for name, value in scope.get("headers", ()):
        if name == b"authorization" and credential is None:
            credential = hashlib.sha256(value).hexdigest()
        elif name == _RECORD_HEADER:
            record = value.strip() == b"1"
    return Caller(address=client[0] if client else "local", credential=credential, record=record)
