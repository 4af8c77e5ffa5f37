"""Who is at the other end."""

import hashlib
from dataclasses import dataclass
from typing import Any

__all__ = ["Caller", "caller_of"]


@dataclass(frozen=True, slots=True)
class Caller:
    """One client, as far as the server can tell.

    Attributes:
        address: its network address; limits by caller and listings go by it.
        credential: a digest of the bearer token it proved itself with, ``None`` for a stranger. A session is resumed
            with the same credential only; the address may change, as a laptop's does.
    """

    address: str
    credential: str | None


def caller_of(scope: Any) -> Caller:
    """Read the caller off an ASGI scope."""
    client = scope.get("client")
    for name, value in scope.get("headers", ()):
        if name == b"authorization":
            credential = hashlib.sha256(value).hexdigest()
            break
    else:
        credential = None
    return Caller(address=client[0] if client else "local", credential=credential)
