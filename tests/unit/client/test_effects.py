import itertools

import pytest

from openenv_core.client._effects import ConnectionGoneError, backoff


def test_waits_double_up_to_a_limit_and_are_never_in_step() -> None:
    waits = list(itertools.islice(backoff(0.1, 0.8), 8))
    for wait, full in zip(waits, [0.1, 0.2, 0.4, 0.8, 0.8, 0.8, 0.8, 0.8], strict=True):
        assert full / 2 <= wait <= full
    assert waits != list(itertools.islice(backoff(0.1, 0.8), 8))


@pytest.mark.parametrize(
    ("code", "reason", "lost_by"),
    [
        (None, "", "disconnected"),
        (1006, "", "disconnected"),
        (1011, "keepalive ping timeout", "disconnected"),
        (1012, "", "shutdown"),
        (4000, "idle_timeout", "idle_timeout"),
        (4000, "env_crashed", "env_crashed"),
        (1000, "closed", "closed"),
    ],
)
def test_the_end_of_a_connection_says_what_became_of_the_session(code: int | None, reason: str, lost_by: str) -> None:
    loss = ConnectionGoneError(code, reason).loss()
    assert loss.reason == lost_by
    assert "call reset to start a new one" in loss.message
    if code is not None:
        assert str(code) in loss.message
