"""Which addresses a page may reach."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

__all__ = ["Origin", "is_allowed_address"]

_PORTS = {"http": 80, "https": 443}
_WEB_SCHEME = {"ws": "http", "wss": "https"}


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port: what the web calls an origin (RFC 6454). A WebSocket counts as http or https."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, address: str) -> Self:
        """The origin of an address.

        Raises:
            ValueError: it has none that can be reached over http or https; the text says why.
        """
        parts = urlsplit(address)
        scheme = _WEB_SCHEME.get(parts.scheme, parts.scheme)
        if scheme not in _PORTS:
            raise ValueError(f"{address!r} is not an http or https address")
        if not parts.hostname:
            raise ValueError(f"{address!r} names no host")
        if parts.username is not None:
            raise ValueError("an address must not carry a user name")
        return cls(scheme, parts.hostname, parts.port or _PORTS[scheme])

    @property
    def authority(self) -> str:
        """Host and port; the port is left out where it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def is_allowed_address(address: str, allowed: Iterable[Origin]) -> bool:
    """Whether a page may be sent to ``address``: one of an allowed origin, or the empty page."""
    if address == "about:blank":
        return True
    try:
        return Origin.of(address) in set(allowed)
    except ValueError:
        return False
