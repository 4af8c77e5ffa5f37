"""Every default and every environment variable of the server and the client, in frozen dataclasses read once."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from openenv_core.errors import ConfigurationError

__all__ = ["ClientSettings", "ServerSettings"]


def _positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("must be 1 or more")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("must be 0 or more")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError("must be a positive number of seconds")
    return value


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("must be true or false")


def _mode(text: str) -> str:
    if text.lower() not in ("simulation", "production"):
        raise ValueError("must be simulation or production")
    return text.lower()


def _setting(default: Any, variable: str, read: Callable[[str], Any], meaning: str) -> Any:
    return field(default=default, metadata={"variable": variable, "read": read, "meaning": meaning})


@dataclass(frozen=True)
class ServerSettings:
    """How a server behaves. :meth:`from_environ` reads each from its environment variable.

    Raises ``ConfigurationError`` at start-up, before a port is opened, for a value that cannot work.
    """

    max_sessions: int = _setting(1, "MAX_CONCURRENT_ENVS", _positive_int, "sessions at a time")
    max_constructing: int = _setting(8, "OPENENV_MAX_CONSTRUCTING", _positive_int, "environments built at a time")
    max_queue: int = _setting(1024, "OPENENV_MAX_QUEUE", _count, "callers that may wait for a slot")
    construct_deadline_s: float = _setting(
        120.0, "OPENENV_CONSTRUCT_DEADLINE_S", _seconds, "limit for one construction"
    )
    step_deadline_s: float = _setting(600.0, "OPENENV_STEP_DEADLINE_S", _seconds, "limit for one reset, step or state")
    idle_timeout_s: float = _setting(3600.0, "OPENENV_IDLE_TIMEOUT_S", _seconds, "an unused session ends after")
    http_idle_timeout_s: float = _setting(
        600.0, "OPENENV_HTTP_IDLE_TIMEOUT_S", _seconds, "an unused HTTP session ends after"
    )
    resume_grace_s: float = _setting(60.0, "OPENENV_RESUME_GRACE_S", _seconds, "a session waits so long for its client")
    drain_grace_s: float = _setting(10.0, "OPENENV_DRAIN_GRACE_S", _seconds, "running calls may finish at shutdown for")
    max_message_bytes: int = _setting(
        16 * 2**20, "OPENENV_MAX_MESSAGE_BYTES", _positive_int, "largest message accepted"
    )
    warn_message_bytes: int = _setting(
        4 * 2**20, "OPENENV_WARN_MESSAGE_BYTES", _positive_int, "larger observations are logged"
    )
    max_pipelined: int = _setting(256, "OPENENV_MAX_PIPELINED", _positive_int, "unanswered calls of one session")
    mode: str = _setting("simulation", "OPENENV_MODE", _mode, "production hides the HTTP routes /reset /step /state")
    web_interface: bool = _setting(False, "ENABLE_WEB_INTERFACE", _flag, "serve the page at /web")

    @classmethod
    def from_environ(
        cls, environ: Mapping[str, str] | None = None, *, default_max_sessions: int | None = None, **overrides: Any
    ) -> "ServerSettings":
        """The settings that the environment variables give, with ``overrides`` (those that are not ``None``) on top.

        Args:
            environ: read instead of ``os.environ``.
            default_max_sessions: the number of sessions where no variable gives one.
        """
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        if default_max_sessions is not None:
            values["max_sessions"] = default_max_sessions
        for entry in fields(cls):
            variable = entry.metadata["variable"]
            if variable in environ:
                try:
                    values[entry.name] = entry.metadata["read"](environ[variable])
                except ValueError as error:
                    raise ConfigurationError(f"{variable}={environ[variable]!r}: {error}") from None
        values.update({name: value for name, value in overrides.items() if value is not None})
        return cls(**values)

    @classmethod
    def table(cls) -> list[tuple[str, str, Any, str]]:
        """One row per setting: name, environment variable, default, meaning."""
        return [(f.name, f.metadata["variable"], f.default, f.metadata["meaning"]) for f in fields(cls)]


@dataclass(frozen=True)
class ClientSettings:
    """How a client behaves; the constructor arguments of the same names.

    Attributes:
        connect_timeout_s: limit for opening the connection.
        message_timeout_s: limit for one reply.
        wait_for_capacity_s: how long to wait in the queue of a full server; 0 fails at once.
        reconnect_timeout_s: how long to try to get a broken connection back.
        max_message_size_mb: largest message accepted from the server, in MiB.
        websocket_ping_interval_s: seconds between keepalive pings, ``None`` for none.
        websocket_ping_timeout_s: a ping unanswered for so long breaks the connection, ``None`` for never.
        headers: extra headers of the handshake.
    """

    connect_timeout_s: float = 10.0
    message_timeout_s: float = 60.0
    wait_for_capacity_s: float = 0.0
    reconnect_timeout_s: float = 30.0
    max_message_size_mb: float = 100.0
    websocket_ping_interval_s: float | None = 20.0
    websocket_ping_timeout_s: float | None = 20.0
    headers: Mapping[str, str] = field(default_factory=dict)
