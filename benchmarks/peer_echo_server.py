# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped,misc"
"""The echo environment served by the public package: the same arithmetic as ``echo_env_server``."""

from typing import Any

from openenv.core.env_server import Environment, State, create_app

from benchmarks.peer_echo import EchoAction, EchoObservation

__all__ = ["EchoEnvironment", "app"]


class EchoEnvironment(Environment):
    """Says back what it is told."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> EchoObservation:
        """Start counting anew."""
        self._state = State(episode_id=episode_id)
        return EchoObservation(echoed_message="Echo environment ready!")

    def step(self, action: EchoAction, timeout_s: float | None = None, **kwargs: Any) -> EchoObservation:
        """Say the message back."""
        self._state.step_count += 1
        length = len(action.message)
        return EchoObservation(echoed_message=action.message, message_length=length, reward=round(length * 0.1, 10))

    @property
    def state(self) -> Any:
        """Episode id and number of steps."""
        return self._state


app = create_app(EchoEnvironment, EchoAction, EchoObservation, "echo_env", max_concurrent_envs=1024)
