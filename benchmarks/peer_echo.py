# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped,misc"
"""The typed client of the echo environment in the public package's terms: what its authors write by hand."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_server.types import Action, Observation, State

from openenv.core import EnvClient

__all__ = ["EchoAction", "EchoEnv", "EchoObservation"]


class EchoAction(Action):
    """Say ``message``."""

    message: str


class EchoObservation(Observation):
    """What came back."""

    echoed_message: str = ""
    message_length: int = 0


class EchoEnv(EnvClient[EchoAction, EchoObservation, State]):
    """An echo environment on a server."""

    def _step_payload(self, action: EchoAction) -> dict[str, Any]:
        return {"message": action.message}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        fields, reward, done = payload["observation"], payload.get("reward"), payload.get("done", False)
        observation = EchoObservation(**fields, reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> Any:
        return State(**payload)
