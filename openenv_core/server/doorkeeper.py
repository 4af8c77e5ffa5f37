"""Who may come in: token, ``Host``, ``Origin``, kind and size of a request. Decisions alone, on an ASGI scope."""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from openenv_core.errors import MessageTooLargeError, ProtocolError, UnauthorizedError
from openenv_core.settings import ServerSettings

__all__ = ["PAGE_COOKIE", "Doorkeeper", "Headers", "has_body", "is_loopback", "too_large"]

PAGE_COOKIE = "openenv_page"
"""Set in a browser that has shown the token once: not every browser repeats a password on a WebSocket."""

Headers = Mapping[bytes, list[bytes]]

_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_JSON_TYPE = re.compile(rb"application/(?:[\w.+-]+\+)?json\s*(?:;|$)", re.IGNORECASE)


class _ForeignOriginError(UnauthorizedError):
    http_status = 403


class _UnknownHostError(ProtocolError):
    http_status = 421


class _HeadTooLargeError(MessageTooLargeError):
    http_status = 431


class _WrongTypeError(ProtocolError):
    http_status = 415


class Doorkeeper:
    """Looks at the head of each request, before anything is built or run for it.

    Args:
        settings: the token, the lists of names and the limits.

    Attributes:
        bound_to: the address on which the server listens, where that is known: without a list of names, one that
            listens on a loopback address answers to loopback names only. Where it is not known, the address at which
            the connection came in counts.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._token = settings.token.encode()
        self._page = hmac.new(self._token, b"openenv page", hashlib.sha256).hexdigest().encode() if self._token else b""
        self._origins = {*settings.allowed_origins}
        if settings.public_host:
            self._origins.add(f"https://{settings.public_host.lower()}")
        self.bound_to: str | None = None

    def check(self, scope: Mapping[str, Any]) -> Headers:
        """Let a request pass, and return its headers by lower-case name.

        Raises:
            OpenEnvError: it is refused; the error's status says how.
        """
        headers: dict[bytes, list[bytes]] = {}
        size = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
            size += len(name) + len(value) + 4
        if size > self._settings.max_header_bytes:
            limit = self._settings.max_header_bytes
            raise _HeadTooLargeError(f"the head of the request has {size} bytes, more than {limit}", limit=limit)
        self._check_host(scope, headers)
        if scope["type"] == "websocket" or scope["method"] in _UNSAFE:
            self._check_origin(headers)
        if self._token and not self._is_open(scope):
            self._check_token(headers)
        if scope["type"] == "http":
            self._check_body(headers)
        return headers

    @property
    def page_cookie(self) -> str:
        """The value of :data:`PAGE_COOKIE`: it opens this server, and does not tell the token."""
        return self._page.decode()

    def administers(self, scope: Mapping[str, Any]) -> bool:
        """Whether a caller may see and close other callers' sessions: with the token; without one, on this machine."""
        client = scope.get("client")
        return bool(self._token) or client is None or is_loopback(client[0])

    def _is_open(self, scope: Mapping[str, Any]) -> bool:
        path: str = scope["path"]
        return scope["type"] == "http" and path.removeprefix(scope.get("root_path", "")) == "/health"

    def _check_host(self, scope: Mapping[str, Any], headers: Headers) -> None:
        given = headers.get(b"host", [])
        if len(given) > 1:
            raise _UnknownHostError("the request has more than one Host header")
        # Only a browser can be led here under another name, and a browser always says which name it was.
        if given and not self._answers_to(_without_port(_text(given[0]).lower()), scope):
            raise _UnknownHostError(
                "this server does not answer to the name in the Host header; OPENENV_ALLOWED_HOSTS lists further names"
            )

    def _answers_to(self, host: str, scope: Mapping[str, Any]) -> bool:
        names, server = self._settings.allowed_hosts, scope.get("server")
        came_in_at = server[0] if server and server[1] is not None else None
        if _is_loopback_name(host) or host == came_in_at:
            return True
        if names:
            return any(_matches(host, name) for name in names) or host == self._settings.public_host.lower()
        bound_to = self.bound_to or came_in_at
        return bound_to is None or not is_loopback(bound_to)

    def _check_origin(self, headers: Headers) -> None:
        for value in headers.get(b"origin", ()):
            origin = _text(value).lower()
            own = {_text(host).lower() for host in headers.get(b"host", ())}
            parts = urlsplit(origin)
            if parts.scheme in ("http", "https") and parts.netloc in own:
                continue
            if origin not in self._origins and "*" not in self._origins:
                raise _ForeignOriginError(
                    "a web page of another server may not call this one; OPENENV_ALLOWED_ORIGINS lists those that may"
                )

    def _check_token(self, headers: Headers) -> None:
        given = [_credential(value) for value in headers.get(b"authorization", ())]
        if len(given) == 1 and hmac.compare_digest(given[0], self._token):
            return
        if not given and hmac.compare_digest(_cookie(headers, PAGE_COOKIE), self._page):
            return
        raise UnauthorizedError(
            "the token is wrong" if given else "this server asks for a token: send the header Authorization: Bearer …"
        )

    def _check_body(self, headers: Headers) -> None:
        length = _text(headers.get(b"content-length", [b"0"])[0])
        if not has_body(headers):
            return
        if not any(_JSON_TYPE.match(value.strip()) for value in headers.get(b"content-type", ())):
            # A page of another server can send anything else without asking first.
            raise _WrongTypeError("the body must be JSON, and say so: send the header Content-Type: application/json")
        limit = self._settings.max_body_bytes
        if length.isdecimal() and int(length) > limit:
            raise too_large(int(length), limit)


def has_body(headers: Headers) -> bool:
    """Whether a body follows the head of a request."""
    return b"transfer-encoding" in headers or any(value != b"0" for value in headers.get(b"content-length", ()))


def too_large(size: int, limit: int) -> MessageTooLargeError:
    """The refusal of a body of ``size`` bytes, or at least so many."""
    return MessageTooLargeError(f"the body has {size} bytes or more; the limit is {limit}", size=size, limit=limit)


def is_loopback(address: str) -> bool:
    """Whether a network address, or ``localhost``, is of this machine alone."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def _is_loopback_name(host: str) -> bool:
    return host.endswith(".localhost") or is_loopback(host)


def _matches(host: str, name: str) -> bool:
    return name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:]))


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip()


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def _credential(value: bytes) -> bytes:
    """The token in an ``Authorization`` header: a bearer, or the password that a browser asked a person for."""
    scheme, _, rest = value.strip().partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""


def _cookie(headers: Headers, name: str) -> bytes:
    for value in headers.get(b"cookie", ()):
        try:
            found = SimpleCookie(_text(value)).get(name)
        except CookieError:
            continue
        if found is not None:
            return found.value.encode("latin-1", "replace")
    return b""
