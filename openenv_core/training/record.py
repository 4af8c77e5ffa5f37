"""What became of one rollout, and what counts as a fault of the infrastructure rather than a deed of the model."""

from dataclasses import dataclass, field
from typing import Any

from openenv_core.errors import (
    CallCancelledError,
    CallTimeoutError,
    CapacityReachedError,
    ConfigurationError,
    ConnectionFailedError,
    EnvironmentFactoryError,
    EnvironmentFailedError,
    EpisodeNotStartedError,
    EpisodeOverError,
    OpenEnvError,
    SessionLostError,
    UnauthorizedError,
    ValidationFailedError,
)
from openenv_core.types import StepResult

__all__ = ["Episode", "Fault", "fault_of", "fault_of_code"]


@dataclass(frozen=True)
class Fault:
    """Why a rollout has no reward.

    Attributes:
        reason: one word for metrics: ``capacity``, ``connection``, ``timeout``, ``environment``, ``factory``,
            ``protocol``, ``cancelled``, ``tool_code``, or ``lost_`` and a word of ``LossReason``.
        message: what the error said.
    """

    reason: str
    message: str


@dataclass
class Episode:
    """One rollout of one environment.

    Attributes:
        columns: the row of the dataset it was started with.
        options: what of it the environment's ``reset`` was given.
        begun: ``reset`` has been called.
        rewards: what each step earned; a step without a reward counts 0.
        done: the episode is over, by the task or by a limit.
        truncated: it was cut by a limit.
        success: whether the task was solved; ``None`` while that is open or has no meaning.
        invalid_actions: tool calls that the environment or the tool refused.
        fault: why there is no reward; ``None`` where all is well.
        reset_seconds: how long ``reset`` took.
        tool_seconds: how long each tool call took.
        counted: the metrics have it already.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    begun: bool = False
    rewards: list[float] = field(default_factory=list)
    done: bool = False
    truncated: bool = False
    success: bool | None = None
    invalid_actions: int = 0
    fault: Fault | None = None
    reset_seconds: float = 0.0
    tool_seconds: list[float] = field(default_factory=list)
    counted: bool = False

    @property
    def steps(self) -> int:
        """Number of steps that the environment has done."""
        return len(self.rewards)

    @property
    def reward(self) -> float | None:
        """The sum of the steps' rewards; ``None`` after a fault: what was lost on the way is not known."""
        return None if self.fault is not None else float(sum(self.rewards))

    @property
    def last_reward(self) -> float | None:
        """The last step's reward; ``None`` after a fault."""
        if self.fault is not None:
            return None
        return self.rewards[-1] if self.rewards else 0.0

    def note(self, result: StepResult[Any], *, is_step: bool = True) -> None:
        """Take in what a reset or a step has given."""
        if is_step:
            self.rewards.append(float(result.reward or 0.0))
        self.done, self.truncated = result.done, result.truncated
        seen = result.observation
        self.success = seen.get("success") if isinstance(seen, dict) else getattr(seen, "success", None)


_REASONS: dict[type[OpenEnvError], str] = {
    CapacityReachedError: "capacity",
    ConnectionFailedError: "connection",
    CallTimeoutError: "timeout",
    CallCancelledError: "cancelled",
    EnvironmentFailedError: "environment",
    EnvironmentFactoryError: "factory",
    EpisodeNotStartedError: "lost_unknown",
}


def fault_of(error: OpenEnvError) -> Fault | None:
    """The fault that an error amounts to; ``None`` for an error of whoever called: a model's illegal move, an option
    that a dataset has wrong, a missing token."""
    if isinstance(error, ValidationFailedError | EpisodeOverError | UnauthorizedError | ConfigurationError):
        return None
    if isinstance(error, SessionLostError):
        return Fault(f"lost_{error.reason}", error.message)
    reason = next((word for kind, word in _REASONS.items() if isinstance(error, kind)), "protocol")
    return Fault(reason, error.message)


def fault_of_code(error: Exception) -> Fault:
    """The fault that an unexpected exception in a tool's own code amounts to: it is not the model's doing."""
    return Fault("tool_code", f"{type(error).__name__}: {error}")
