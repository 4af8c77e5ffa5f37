"""What a flow may want done, and how the ends of connections are told to it."""

import random
from collections.abc import Generator
from typing import Any, NamedTuple

from openenv_core.errors import LossReason, SessionLostError
from openenv_core.wire.frames import HelloData

__all__ = [
    "Connect",
    "ConnectionGoneError",
    "Drop",
    "Effect",
    "Flow",
    "Receive",
    "Release",
    "Send",
    "Sleep",
    "backoff",
    "left_with_parent",
]


class Connect(NamedTuple):
    """Open a socket. Answered with the :class:`Calls` of the protocol version that was agreed on."""


class Send(NamedTuple):
    """Send a message."""

    message: bytes


class Receive(NamedTuple):
    """Wait for a message, at most ``limit_s`` seconds. Answered with it; ``TimeoutError`` when the time is over."""

    limit_s: float


class Sleep(NamedTuple):
    """Wait."""

    seconds: float


class Drop(NamedTuple):
    """Close the socket, without a word to the session's server side beyond the close itself."""


class Release(NamedTuple):
    """The socket carries no session any more: keep it for the next client, or close it."""

    hello: HelloData


Effect = Connect | Send | Receive | Sleep | Drop | Release
Flow = Generator[Effect, Any, Any]


class ConnectionGoneError(Exception):
    """The socket has ended under a flow.

    Attributes:
        code: its close code, where a close came.
        reason: its close reason.
    """

    def __init__(self, code: int | None = None, reason: str = "") -> None:
        super().__init__(f"close code {code}: {reason}" if code is not None else reason or "no close came")
        self.code = code
        self.reason = reason

    def loss(self, more: str = "") -> SessionLostError:
        """What it means for a session that cannot be resumed. ``more``: what was tried."""
        reason: str = LossReason.DISCONNECTED
        if self.code == 1012:
            reason = LossReason.SHUTDOWN
        elif self.reason in set(LossReason):
            reason = self.reason
        return SessionLostError(
            f"the connection to the server is gone ({self}{more}), and the session with it; call reset to start a new "
            "one",
            reason=reason,
        )


def left_with_parent() -> SessionLostError:
    """What a process that was forked is told of a session that was open before: the parent goes on with it."""
    return SessionLostError(
        "the session was opened by the process from which this one was forked, and goes on there; call reset to open "
        "one of this process's own",
        reason=LossReason.DISCONNECTED,
    )


def backoff(first_s: float = 0.05, longest_s: float = 2.0) -> Generator[float, None, None]:
    """Waits that double, each cut at random by up to half so that many clients do not come back in step."""
    jitter = random.Random()
    wait_s = first_s
    while True:
        yield wait_s * jitter.uniform(0.5, 1.0)
        wait_s = min(wait_s * 2, longest_s)
