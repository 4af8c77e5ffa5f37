"""Every default and every environment variable of the server and the client, in frozen dataclasses read once."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from openenv_core.errors import ConfigurationError

__all__ = ["ClientSettings", "ServerSettings", "SettingRow", "markdown_table", "option_of"]


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


def _rate(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("must be 0 or a positive number")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError("must be a positive number of seconds")
    return value


def _nesting(text: str) -> int:
    value = int(text)
    # The JSON parser's own limit is 200; a larger one here would promise what it does not keep.
    if not 1 <= value <= 200:
        raise ValueError("must be 1 to 200")
    return value


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("", "0", "false", "no", "off"):
        return False
    raise ValueError("must be true or false")


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"must be {' or '.join(words)}")
        return text.lower()

    return read


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip().lower().rstrip("/") for name in text.split(",") if name.strip())


def _token(text: str) -> str:
    token = text.strip()
    if not all("!" <= character <= "~" for character in token):
        raise ValueError("must be visible ASCII characters without spaces")
    return token


def _setting(
    default: Any,
    variable: str,
    read: Callable[[str], Any],
    meaning: str,
    group: str = "Capacity and time",
    *,
    secret: bool = False,
    option: str = "",
) -> Any:
    metadata = {
        "variable": variable,
        "read": read,
        "meaning": meaning,
        "group": group,
        "secret": secret,
        "option": option,
    }
    return field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True)
class ServerSettings:
    """How a server behaves. :meth:`from_environ` reads each from its environment variable.

    Raises ``ConfigurationError`` at start-up, before a port is opened, for a value that cannot work.
    """

    max_sessions: int = _setting(
        1, "MAX_CONCURRENT_ENVS", _positive_int, "sessions at a time; an environment may bring a default of its own"
    )
    max_sessions_per_caller: int = _setting(
        0, "OPENENV_MAX_SESSIONS_PER_CALLER", _count, "sessions at a time from one address; 0 for no limit"
    )
    max_opens_per_second: float = _setting(
        0.0, "OPENENV_MAX_OPENS_PER_SECOND", _rate, "sessions that one address may open per second; 0 for no limit"
    )
    max_constructing: int = _setting(8, "OPENENV_MAX_CONSTRUCTING", _positive_int, "environments built at a time")
    max_queue: int = _setting(1024, "OPENENV_MAX_QUEUE", _count, "callers that may wait for a slot")
    max_pipelined: int = _setting(256, "OPENENV_MAX_PIPELINED", _positive_int, "unanswered calls of one session")
    construct_deadline_s: float = _setting(
        120.0, "OPENENV_CONSTRUCT_DEADLINE_S", _seconds, "limit for one construction, in seconds"
    )
    step_deadline_s: float = _setting(
        600.0,
        "OPENENV_STEP_DEADLINE_S",
        _seconds,
        "limit for one reset, step or state, in seconds; a call that blocks under inline execution is not ended by it",
    )
    idle_timeout_s: float = _setting(
        3600.0, "OPENENV_IDLE_TIMEOUT_S", _seconds, "an unused session ends after so many seconds"
    )
    http_idle_timeout_s: float = _setting(
        600.0,
        "OPENENV_HTTP_IDLE_TIMEOUT_S",
        _seconds,
        "an unused session of plain HTTP or MCP ends after so many seconds",
    )
    resume_grace_s: float = _setting(
        60.0, "OPENENV_RESUME_GRACE_S", _seconds, "a session waits so many seconds for its client to come back"
    )
    drain_grace_s: float = _setting(
        10.0, "OPENENV_DRAIN_GRACE_S", _seconds, "running calls may take so many seconds at shutdown"
    )
    first_message_timeout_s: float = _setting(
        300.0,
        "OPENENV_FIRST_MESSAGE_TIMEOUT_S",
        _seconds,
        "a WebSocket that asks for nothing ends after so many seconds",
    )
    request_timeout_s: float = _setting(
        20.0,
        "OPENENV_REQUEST_TIMEOUT_S",
        _seconds,
        "the headers of a request, and its body, must each arrive within so many seconds",
    )

    max_message_bytes: int = _setting(
        16 * 2**20, "OPENENV_MAX_MESSAGE_BYTES", _positive_int, "largest WebSocket message accepted", "Sizes"
    )
    max_body_bytes: int = _setting(
        16 * 2**20, "OPENENV_MAX_BODY_BYTES", _positive_int, "largest HTTP body accepted", "Sizes"
    )
    max_header_bytes: int = _setting(
        32 * 2**10, "OPENENV_MAX_HEADER_BYTES", _positive_int, "largest head of a request accepted", "Sizes"
    )
    max_nesting: int = _setting(
        100,
        "OPENENV_MAX_NESTING",
        _nesting,
        "deepest nesting of JSON accepted; 200 at most, which holds in version 2 always",
        "Sizes",
    )
    warn_message_bytes: int = _setting(
        4 * 2**20, "OPENENV_WARN_MESSAGE_BYTES", _positive_int, "larger observations are logged", "Sizes"
    )

    token: str = _setting(
        "", "OPENENV_TOKEN", _token, "bearer token that every caller must send; empty for none", "Access", secret=True
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "OPENENV_ALLOWED_HOSTS",
        _names,
        "names by which the server may be called, with commas; *.example.org for all below, * for any. "
        "Without a list: loopback names on a loopback address, any elsewhere",
        "Access",
    )
    allowed_origins: tuple[str, ...] = _setting(
        (),
        "OPENENV_ALLOWED_ORIGINS",
        _names,
        "web pages of other servers that may call this one, as https://example.org, with commas; * for any",
        "Access",
    )
    public_host: str = _setting(
        "", "SPACE_HOST", str, "the server's public name behind a proxy; a Space sets it by itself", "Access"
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "OPENENV_TRUSTED_PROXIES",
        _names,
        "addresses or networks of proxies whose X-Forwarded-For is believed, with commas; * for any",
        "Access",
    )

    ping_interval_s: float = _setting(
        20.0, "OPENENV_PING_INTERVAL_S", _seconds, "seconds between keepalive pings on a WebSocket", "Connections"
    )
    ping_timeout_s: float = _setting(
        120.0,
        "OPENENV_PING_TIMEOUT_S",
        _seconds,
        "a client that answers no ping for so many seconds is taken for gone; one that computes may be silent for long",
        "Connections",
    )

    execution: str = _setting(
        "auto",
        "OPENENV_EXECUTION",
        _word("auto", "inline", "thread", "process"),
        "where environments run: inline, thread or process; auto: where their class says",
        "Worker processes",
    )
    sessions_per_worker: int = _setting(
        0,
        "OPENENV_SESSIONS_PER_WORKER",
        _count,
        "sessions that share a worker process; 0: one each up to 16 sessions, more where there are more",
        "Worker processes",
    )
    spare_workers: int = _setting(
        1, "OPENENV_SPARE_WORKERS", _count, "idle worker processes that are kept ready", "Worker processes"
    )
    worker_memory_mb: int = _setting(
        0, "OPENENV_WORKER_MEMORY_MB", _count, "memory of a worker process in MiB; 0 for no limit", "Worker processes"
    )
    worker_cpu_s: int = _setting(
        0,
        "OPENENV_WORKER_CPU_S",
        _count,
        "processor time of a worker process in seconds, in all; 0 for no limit",
        "Worker processes",
    )

    mode: str = _setting(
        "simulation",
        "OPENENV_MODE",
        _word("simulation", "production"),
        "production hides the HTTP routes /reset, /step and /state",
        "Operation",
    )
    web_interface: bool = _setting(
        False,
        "ENABLE_WEB_INTERFACE",
        _switch,
        "the page at /web, for people: play, watch sessions, replay episodes",
        "Operation",
        option="--web",
    )
    record: str = _setting(
        "", "OPENENV_RECORD", str.strip, "folder in which episodes are written down; none records nothing", "Recording"
    )
    record_sessions: str = _setting(
        "all",
        "OPENENV_RECORD_SESSIONS",
        _word("all", "asked"),
        "which are written down: all, or those whose client asks by the header X-OpenEnv-Record: 1",
        "Recording",
    )
    record_max_mb: int = _setting(
        1024, "OPENENV_RECORD_MAX_MB", _positive_int, "size of all recordings in MiB; the oldest go first", "Recording"
    )
    record_max_age_s: float = _setting(
        604800.0, "OPENENV_RECORD_MAX_AGE_S", _seconds, "a recording goes so many seconds after its end", "Recording"
    )
    log_format: str = _setting(
        "auto",
        "OPENENV_LOG_FORMAT",
        _word("auto", "text", "json"),
        "how the log is written: text, json, or auto, which is text on a terminal and json elsewhere",
        "Operation",
    )

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
            variable, secret = entry.metadata["variable"], entry.metadata["secret"]
            if variable in environ:
                try:
                    values[entry.name] = entry.metadata["read"](environ[variable])
                except ValueError as error:
                    shown = "" if secret else f"={environ[variable]!r}"
                    raise ConfigurationError(f"{variable}{shown}: {error}") from None
        values.update({name: value for name, value in overrides.items() if value is not None})
        return cls(**values)

    @classmethod
    def table(cls) -> list["SettingRow"]:
        """One row per setting."""
        return [
            SettingRow(
                name=entry.name,
                group=entry.metadata["group"],
                option="" if entry.metadata["secret"] else entry.metadata["option"] or option_of(entry.name),
                variable=entry.metadata["variable"],
                default=_shown(entry.name, entry.default),
                meaning=entry.metadata["meaning"],
            )
            for entry in fields(cls)
        ]


class SettingRow(NamedTuple):
    """A setting, for people.

    Attributes:
        name: the field of :class:`ServerSettings`.
        group: the heading below which it is listed.
        option: of ``openenv serve``; empty for a secret, which must not show in a list of processes.
        variable: the environment variable.
        default: as text.
        meaning: in words.
    """

    name: str
    group: str
    option: str
    variable: str
    default: str
    meaning: str


def option_of(name: str) -> str:
    """The option of ``openenv serve`` for a setting."""
    return "--" + name.removesuffix("_s").replace("_", "-")


def _shown(name: str, default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if name.endswith("_bytes"):
        return f"{default // 2**20} MiB" if default % 2**20 == 0 else f"{default // 2**10} KiB"
    if isinstance(default, int | float):
        return f"{default:g}"
    return str(default) if default else "none"


def markdown_table() -> str:
    """All settings of the server as a table for the README."""
    lines = ["| variable | option of `openenv serve` | default | meaning |", "|---|---|---|---|"]
    for row in ServerSettings.table():
        option = f"`{row.option}`" if row.option else "none: a secret"
        lines.append(f"| `{row.variable}` | {option} | {row.default} | {row.meaning} |")
    return "\n".join(lines)


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
