# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped,misc,no-any-return"
"""Models and typed client of the toy environment in the public package's terms, with the three hooks it asks for."""

from typing import Any, Literal

from openenv.core.client_types import StepResult
from openenv.core.env_server import Action, Observation, State
from pydantic import Field, field_validator

from openenv.core import EnvClient

__all__ = ["ToyAction", "ToyEnv", "ToyObservation", "ToyState"]


class ToyAction(Action):
    """Say a word."""

    text: str = Field(min_length=1, max_length=20)
    times: int = Field(default=1, ge=1, le=3)
    voice: Literal["plain", "loud"] = "plain"
    tags: list[int] = []

    @field_validator("text")
    @classmethod
    def _refuse(cls, text: str) -> str:
        if text == "veto":
            raise ValueError("this word is refused")
        return text


class ToyObservation(Observation):
    """What came back."""

    echoed: str = ""
    count: int = 0
    blob: bytes | None = None
    number: float = 0.0
    extra: Any = None


class ToyState(State):
    """Episode id, number of steps, chosen difficulty."""

    difficulty: str = "easy"


class ToyEnv(EnvClient[ToyAction, ToyObservation, ToyState]):
    """A toy environment on a server."""

    def _step_payload(self, action: ToyAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = ToyObservation(**payload["observation"], reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> Any:
        return ToyState(**payload)
