"""Waiting for a server: until it is ready, has ended, or the time is over."""

import time
from collections.abc import Callable, Mapping

import httpx

from openenv_core.errors import ConnectionFailedError

__all__ = ["is_ready", "last_lines", "wait_until_ready"]

_PROBE_LIMIT_S = 5.0
_LINES = 15


def is_ready(
    base_url: str, headers: Mapping[str, str] | None = None, *, trust_env: bool = False, path: str = "/health"
) -> bool:
    """Whether a server says that it takes sessions.

    Args:
        trust_env: ask through the proxy that the environment variables name; for addresses beyond this machine.
        path: what is asked for, where it is something else that must be there.
    """
    try:
        answer = httpx.get(
            f"{base_url}{path}",
            headers=dict(headers or {}),
            timeout=_PROBE_LIMIT_S,
            trust_env=trust_env,
            follow_redirects=trust_env,
        )
    except httpx.HTTPError:
        return False
    return answer.status_code == 200


def wait_until_ready(
    subject: str,
    probe: Callable[[], bool],
    *,
    limit_s: float,
    ended: Callable[[], str | None] = lambda: None,
    logs: Callable[[], str] = lambda: "",
    pause_s: float = 0.1,
) -> None:
    """Ask until the answer is yes.

    Args:
        subject: what is waited for, for the message of the error.
        probe: the question.
        limit_s: how long to go on asking.
        ended: tells in a few words why there is nothing left to wait for; ``None`` while there is.
        logs: what the server has written.
        pause_s: between two questions.

    Raises:
        ConnectionFailedError: it ended or was not ready in time. The message holds the last lines of its log.
    """
    deadline = time.monotonic() + limit_s
    while (why := ended()) is None:
        if probe():
            return
        if time.monotonic() >= deadline:
            why = f"was not ready within {limit_s:g} s"
            break
        time.sleep(pause_s)
    written = last_lines(logs())
    raise ConnectionFailedError(f"{subject} {why}" + (f"; the last of its log:\n{written}" if written else ""))


def last_lines(text: str, count: int = _LINES) -> str:
    """The end of a log."""
    return "\n".join(text.rstrip().splitlines()[-count:])
