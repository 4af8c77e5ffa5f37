"""The one tree of errors. The same class is raised at the server and, carried by its code, at the client.

    OpenEnvError (RuntimeError)                     code
    ├── ProtocolError                               PROTOCOL_ERROR
    │   ├── InvalidJsonError                        INVALID_JSON
    │   ├── UnknownTypeError                        UNKNOWN_TYPE
    │   └── MessageTooLargeError                    MESSAGE_TOO_LARGE
    ├── ValidationFailedError                       VALIDATION_ERROR      (details: errors)
    │   └── UnknownResetOptionError                 UNKNOWN_RESET_OPTION  (details: errors, unknown, known)
    ├── EnvironmentFailedError                      EXECUTION_ERROR       the environment's own code raised
    │   ├── InvalidObservationError                 INVALID_OBSERVATION
    │   └── InvalidRewardError                      INVALID_REWARD
    ├── EpisodeNotStartedError                      EPISODE_NOT_STARTED   step before reset
    ├── EpisodeOverError                            EPISODE_OVER          step after the end
    ├── UnsupportedOperationError                   UNSUPPORTED
    ├── UnauthorizedError                           UNAUTHORIZED
    ├── CapacityReachedError                        CAPACITY_REACHED      (details: active_sessions, max_sessions)
    ├── EnvironmentFactoryError                     FACTORY_ERROR         (details: factory_name)
    ├── CallTimeoutError (TimeoutError)             TIMEOUT               the client gave up waiting
    ├── CallCancelledError                          CANCELLED
    ├── ConnectionFailedError (ConnectionError)     CONNECTION_FAILED     no session was lost: none was open
    ├── SessionLostError (ConnectionError)          SESSION_LOST          (details: reason)
    └── ConfigurationError (ValueError)             CONFIGURATION_ERROR
        └── ConcurrencyConfigurationError           CONFIGURATION_ERROR

Every class is a ``RuntimeError``; the ones that stand for a timeout or a broken connection are also the builtin
``TimeoutError`` or ``ConnectionError``, so code written for the public OpenEnv client keeps catching them.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = [
    "CallCancelledError",
    "CallTimeoutError",
    "CapacityReachedError",
    "ConcurrencyConfigurationError",
    "ConfigurationError",
    "ConnectionFailedError",
    "EnvironmentFactoryError",
    "EnvironmentFailedError",
    "EpisodeNotStartedError",
    "EpisodeOverError",
    "InvalidJsonError",
    "InvalidObservationError",
    "InvalidRewardError",
    "LossReason",
    "MessageTooLargeError",
    "OpenEnvError",
    "ProtocolError",
    "SessionLostError",
    "UnauthorizedError",
    "UnknownResetOptionError",
    "UnknownTypeError",
    "UnsupportedOperationError",
    "ValidationFailedError",
    "error_from_wire",
    "jsonable",
    "jsonable_problems",
]


class LossReason(StrEnum):
    """Why a session ended without its client asking for it (``closed`` excepted: the client or an operator asked)."""

    DISCONNECTED = "disconnected"
    IDLE_TIMEOUT = "idle_timeout"
    GRACE_EXPIRED = "grace_expired"
    SERVER_RESTARTED = "server_restarted"
    ENV_CRASHED = "env_crashed"
    STEP_DEADLINE = "step_deadline"
    CLOSED = "closed"
    SHUTDOWN = "shutdown"


class OpenEnvError(RuntimeError):
    """Base of all errors of this package.

    Attributes:
        code: the wire code, one per class.
        v1_code: the code of the public protocol (version 1) that carries this error to a client of that version.
        http_status: the status that carries this error over plain HTTP.
        retryable: whether the same call may succeed later without a change.
        message: what went wrong and what to do, for the person at the other end.
        details: JSON-able facts, by name.
    """

    code: ClassVar[str] = "ERROR"
    v1_code: ClassVar[str] = "EXECUTION_ERROR"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details

    @property
    def public_message(self) -> str:
        """The message in the words of the public protocol (version 1)."""
        return self.message

    def __str__(self) -> str:
        return f"{self.message} (code: {self.code})"

    def __reduce__(self) -> tuple[Any, ...]:
        return error_from_wire, (self.code, self.message, self.details)


class ProtocolError(OpenEnvError):
    """A frame that does not fit the protocol, or peers that speak different versions of it."""

    code = "PROTOCOL_ERROR"
    v1_code = "SESSION_ERROR"
    http_status = 400


class InvalidJsonError(ProtocolError):
    """A message that is not JSON, or is JSON of the wrong kind."""

    code = "INVALID_JSON"
    v1_code = "INVALID_JSON"
    http_status = 422


class UnknownTypeError(ProtocolError):
    """A frame whose ``type`` is missing or not one of the protocol."""

    code = "UNKNOWN_TYPE"
    v1_code = "UNKNOWN_TYPE"


class MessageTooLargeError(ProtocolError):
    """A message over the limit. Details: ``size`` (bytes, where known) and ``limit`` (bytes)."""

    code = "MESSAGE_TOO_LARGE"
    http_status = 413


class ValidationFailedError(OpenEnvError):
    """An action, an option or a frame field that does not fit its schema. Details: ``errors``, pydantic's list."""

    code = "VALIDATION_ERROR"
    v1_code = "VALIDATION_ERROR"
    http_status = 422

    @classmethod
    def of(cls, error: ValidationError, subject: str) -> "ValidationFailedError":
        """The refusal of ``subject`` that pydantic's error amounts to; the message tells the first problem."""
        problems = jsonable_problems(error)
        first = problems[0]
        where = ".".join(map(str, first["loc"]))
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return cls(f"{subject}{f', field {where!r}' if where else ''}: {first['msg']}{more}", errors=problems)


class UnknownResetOptionError(ValidationFailedError):
    """``reset`` was given an option that the environment does not have. Details: ``unknown`` and ``known`` names."""

    code = "UNKNOWN_RESET_OPTION"


class EnvironmentFailedError(OpenEnvError):
    """The environment's own code raised. The session goes on; the server logs the traceback under ``error_id``."""

    code = "EXECUTION_ERROR"


class InvalidObservationError(EnvironmentFailedError):
    """The call ran, but what it returned is not an observation, or does not serialize. Do not repeat the step."""

    code = "INVALID_OBSERVATION"


class InvalidRewardError(EnvironmentFailedError):
    """The call ran, but its reward is not a finite number. Do not repeat the step."""

    code = "INVALID_REWARD"


class EpisodeNotStartedError(OpenEnvError):
    """``step`` before the first ``reset``. Nothing ran; the session lives."""

    code = "EPISODE_NOT_STARTED"
    http_status = 409


class EpisodeOverError(OpenEnvError):
    """``step`` after the end of the episode. Nothing ran; the session lives; ``reset`` starts the next episode."""

    code = "EPISODE_OVER"
    http_status = 409


class UnsupportedOperationError(OpenEnvError):
    """The environment does not offer this operation."""

    code = "UNSUPPORTED"
    http_status = 501


class UnauthorizedError(OpenEnvError):
    """The token is missing or wrong, or the session belongs to another caller."""

    code = "UNAUTHORIZED"
    v1_code = "SESSION_ERROR"
    http_status = 401


class CapacityReachedError(OpenEnvError):
    """All slots are in use. Details: ``active_sessions``, ``max_sessions``, after a wait ``waited_s``."""

    code = "CAPACITY_REACHED"
    v1_code = "CAPACITY_REACHED"
    http_status = 503
    retryable = True


class EnvironmentFactoryError(OpenEnvError):
    """The environment could not be built. Details: ``factory_name``; the server logs the traceback under ``error_id``.

    The message tells what was raised, but to clients of the public protocol, which has a fixed text for it.
    """

    code = "FACTORY_ERROR"
    v1_code = "FACTORY_ERROR"

    @property
    def public_message(self) -> str:
        """That text, which names the factory."""
        name = self.details.get("factory_name")
        return self.message if name is None else f"Environment factory '{name}' failed to create instance."


class CallTimeoutError(OpenEnvError, TimeoutError):
    """The client waited longer than its limit for a reply. The message names the limit's setting."""

    code = "TIMEOUT"
    http_status = 504
    retryable = True


class CallCancelledError(OpenEnvError):
    """The call was cancelled by its client before it had run."""

    code = "CANCELLED"


class ConnectionFailedError(OpenEnvError, ConnectionError):
    """No connection to the server could be made. No session was open, so none was lost."""

    code = "CONNECTION_FAILED"
    retryable = True


class SessionLostError(OpenEnvError, ConnectionError):
    """The session, and with it the running episode, is gone. ``reset`` opens a new one. Details: ``reason``."""

    code = "SESSION_LOST"
    v1_code = "SESSION_ERROR"
    http_status = 410

    def __init__(self, message: str, *, reason: str = LossReason.DISCONNECTED, **details: Any) -> None:
        super().__init__(message, reason=str(reason), **details)

    @property
    def reason(self) -> str:
        """One of :class:`LossReason`, or a word from a newer server."""
        return str(self.details["reason"])


class ConfigurationError(OpenEnvError, ValueError):
    """A setting that cannot work. Raised at start-up, before a port is opened."""

    code = "CONFIGURATION_ERROR"


class ConcurrencyConfigurationError(ConfigurationError):
    """More than one session was asked for, and the environment does not say that its instances may run side by side."""


def jsonable_problems(error: ValidationError) -> list[dict[str, Any]]:
    """pydantic's list of problems in a form that always serializes, as :func:`jsonable` makes it."""
    problems: list[dict[str, Any]] = jsonable(error.errors())
    return problems


def jsonable(value: Any) -> Any:
    """Anything as values that strict JSON can hold: exceptions as text, odd objects as their repr, NaN and infinities
    by name, characters that UTF-8 cannot carry by their escapes."""
    try:
        return _tidy(to_jsonable_python(value, fallback=_in_words, bytes_mode="base64"))
    except (PydanticSerializationError, ValueError, RecursionError):
        return _tidy(repr(value))


def _in_words(value: Any) -> str:
    return str(value) if isinstance(value, BaseException) else repr(value)


def _tidy(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {_tidy(key): _tidy(item) for key, item in value.items()}
    return [_tidy(item) for item in value] if isinstance(value, list) else value


def _walk(cls: type[OpenEnvError]) -> list[type[OpenEnvError]]:
    return [cls, *(found for child in cls.__subclasses__() for found in _walk(child))]


# The first class that states a code owns it: a subclass without a code of its own travels as its parent.
_BY_CODE: dict[str, type[OpenEnvError]] = {}
for _cls in _walk(OpenEnvError):
    _BY_CODE.setdefault(_cls.code, _cls)


def error_from_wire(code: str, message: str, details: Mapping[str, Any]) -> OpenEnvError:
    """The error that a code stands for; an unknown code, from a newer server, becomes a plain :class:`OpenEnvError`."""
    cls = _BY_CODE.get(code)
    if cls is None:
        error = OpenEnvError(message)
        error.details.update({"code": code, **details})
        return error
    error = cls(message)
    error.details.update(details)  # as they come: a name may be one that the constructor takes for itself
    return error
