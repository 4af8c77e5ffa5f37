"""What the blocking and the awaiting client have in common: arguments, addresses, types, making a connection."""

import ipaddress
import ssl
from collections.abc import Callable, Hashable, Mapping
from inspect import signature
from typing import Any, Literal, TypedDict
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, TypeAdapter, ValidationError
from websockets.exceptions import InvalidStatus

from openenv_core.client._flow import SessionFlow
from openenv_core.errors import ConnectionFailedError, OpenEnvError, UnauthorizedError, ValidationFailedError
from openenv_core.settings import ClientSettings
from openenv_core.wire.calls import Calls, V1Calls, V2Calls
from openenv_core.wire.frames import SUBPROTOCOL, HelloData

__all__ = ["ClientBase", "connection_error", "connector_arguments", "is_loopback", "websocket_url"]

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


def websocket_url(base_url: str) -> str:
    """The address of the WebSocket below a base URL: ``http``, ``https``, ``ws``, ``wss`` or a bare host, any slashes.

    Raises:
        ValueError: no text, another scheme, or no host.
    """
    given: Any = base_url
    if not isinstance(given, str):
        raise ValueError(f"base_url is {given!r}: it must be a text, http://127.0.0.1:8000 say")
    address = given.strip()
    parts = urlsplit(address if "://" in address else f"ws://{address}")
    scheme = _SCHEMES.get(parts.scheme.lower())
    if scheme is None or not parts.hostname:
        raise ValueError(f"base_url is {base_url!r}: it must be an http, https, ws or wss address of a server")
    path = parts.path.rstrip("/")
    return urlunsplit((scheme, parts.netloc, path if path.endswith("/ws") else f"{path}/ws", parts.query, ""))


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, where no proxy belongs in between."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ConnectorArguments(TypedDict):
    """Arguments of the connectors of ``websockets``, sync and async."""

    subprotocols: list[Any]
    compression: None
    additional_headers: Mapping[str, str]
    proxy: Literal[True] | None
    open_timeout: float
    max_size: int


def connector_arguments(url: str, settings: ClientSettings) -> ConnectorArguments:
    """How to connect: version 2 is offered, and a server that does not know it answers in version 1."""
    return ConnectorArguments(
        subprotocols=[SUBPROTOCOL],
        compression=None,
        additional_headers=dict(settings.headers),
        proxy=None if is_loopback(url) else True,
        open_timeout=settings.connect_timeout_s,
        max_size=int(settings.max_message_size_mb * 2**20),
    )


def connection_error(url: str, error: Exception) -> OpenEnvError:
    """What a failed connection attempt amounts to."""
    if isinstance(error, InvalidStatus):
        status = error.response.status_code
        if status in (401, 403):
            return UnauthorizedError(
                f"Failed to connect to {url}: the server answered {status}. Is the token right, and is this the "
                "address of an environment server?",
                status=status,
            )
        return ConnectionFailedError(f"Failed to connect to {url}: the server answered {status}", status=status)
    if isinstance(error, TimeoutError):
        return ConnectionFailedError(
            f"Failed to connect to {url}: no answer in time; a larger connect_timeout_s waits longer"
        )
    if isinstance(error, ConnectionRefusedError):
        return ConnectionFailedError(f"Failed to connect to {url}: {error}. Does the server run, on this port?")
    if isinstance(error, ssl.SSLError) and "WRONG_VERSION_NUMBER" in str(error):
        return ConnectionFailedError(f"Failed to connect to {url}: {error}. It speaks no TLS: is it http, not https?")
    return ConnectionFailedError(f"Failed to connect to {url}: {error}")


class ClientBase:
    """Arguments and types of a client. Subclasses of the clients set the three types and nothing else.

    Attributes:
        action_type, observation_type, state_type: the models; ``dict`` passes plain values through.
    """

    action_type: Any = dict
    observation_type: Any = dict
    state_type: Any = dict

    def __init__(
        self,
        base_url: str | None = None,
        connect_timeout_s: float = 10.0,
        message_timeout_s: float = 60.0,
        max_message_size_mb: float = 100.0,
        websocket_ping_interval_s: float | None = 20.0,
        websocket_ping_timeout_s: float | None = 20.0,
        provider: Any = None,
        mode: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: str | None = None,
        wait_for_capacity_s: float = 0.0,
        reconnect_timeout_s: float = 30.0,
        on_queued: Callable[[int], None] | None = None,
    ) -> None:
        """Connects at the first call, or by ``with`` or ``connect()``.

        Args:
            base_url: the server: an ``http``, ``https``, ``ws`` or ``wss`` address.
            connect_timeout_s: limit for opening the connection.
            message_timeout_s: limit for one reply.
            max_message_size_mb: largest message accepted from the server, in MiB.
            websocket_ping_interval_s: seconds between keepalive pings; ``None`` for none.
            websocket_ping_timeout_s: a ping unanswered for so long breaks the connection; ``None`` for never.
            provider: starts a server and knows its address, where there is no ``base_url``.
            mode: accepted for programs written for the public package, whose clients differ by it; has no effect.
            headers: extra headers of the handshake.
            token: bearer token of the server.
            wait_for_capacity_s: how long to wait in the queue of a full server; 0 fails at once.
            reconnect_timeout_s: how long to try to get a broken connection back.
            on_queued: told the place in that queue.

        Raises:
            ValueError: neither ``base_url`` nor ``provider``, or an address that cannot be one.
        """
        if base_url is None and provider is None:
            raise ValueError("give base_url, the address of a server, or a provider that starts one")
        if mode is not None and mode.lower() not in ("simulation", "production"):
            raise ValueError(f"mode is {mode!r}; it must be simulation or production")
        self._base_url = base_url
        self._provider = provider
        self._owns_server = base_url is None
        self._url = websocket_url(base_url) if base_url is not None else ""
        self._settings = ClientSettings(
            connect_timeout_s=connect_timeout_s,
            message_timeout_s=message_timeout_s,
            wait_for_capacity_s=wait_for_capacity_s,
            reconnect_timeout_s=reconnect_timeout_s,
            max_message_size_mb=max_message_size_mb,
            websocket_ping_interval_s=websocket_ping_interval_s,
            websocket_ping_timeout_s=websocket_ping_timeout_s,
            headers={**(headers or {}), **({"Authorization": f"Bearer {token}"} if token is not None else {})},
        )
        self._flow = SessionFlow(self._settings, on_position=on_queued)
        self._action: TypeAdapter[Any] = TypeAdapter(self.action_type)

    @property
    def base_url(self) -> str | None:
        """The server's address; ``None`` until a provider has started it."""
        return self._base_url

    @property
    def session_id(self) -> str | None:
        """The server's name for the session, while there is one (``""`` with a server of protocol version 1)."""
        return self._flow.session_id

    @property
    def _connection_key(self) -> Hashable:
        """Clients for which this is equal can use the same connection, one after the other."""
        chosen = self._settings
        pings = chosen.websocket_ping_interval_s, chosen.websocket_ping_timeout_s
        return self._url, tuple(sorted(chosen.headers.items())), chosen.max_message_size_mb, pings

    @property
    def hello(self) -> HelloData | None:
        """What the server has said of itself when it was connected to; ``None`` before, and with version 1."""
        return self._flow.hello

    def _calls(self, subprotocol: str | None) -> Calls:
        kind = V2Calls if subprotocol == SUBPROTOCOL else V1Calls
        return kind(self.observation_type, self.state_type)

    def _typed_action(self, action: Any) -> Any:
        """The action as it travels: a model as it is, plain values checked against the action's type.

        Raises:
            ValidationFailedError: they do not fit; nothing is sent.
        """
        # The plain comparison first: pydantic's metaclass makes isinstance slow, and this runs for every step.
        if type(action) is self.action_type or isinstance(action, BaseModel):
            return action
        if self.action_type is dict and not isinstance(action, dict) and hasattr(action, "__dict__"):
            return dict(vars(action))
        try:
            return self._action.validate_python(action)
        except ValidationError as error:
            raise ValidationFailedError.of(error, "the action") from None

    def _arguments_of_sibling(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """This client's arguments for another client of the same server, which this one may own."""
        names = [name for name, _ in zip(signature(ClientBase).parameters, args, strict=False)]
        given = {**dict(zip(names, args, strict=True)), **kwargs}
        return {**given, "base_url": self._base_url, "provider": None} if self._base_url is not None else given

    def _start_server(self) -> None:
        """Have the provider start the server, where there is none yet."""
        if self._base_url is None:
            base_url = self._provider.start_container()
            try:
                self._provider.wait_for_ready(base_url)
                self._url = websocket_url(base_url)
            except BaseException:
                self._provider.stop_container()
                raise
            self._base_url = base_url

    def _stop_server(self) -> None:
        if self._owns_server and self._base_url is not None:
            self._base_url = None
            self._provider.stop_container()
