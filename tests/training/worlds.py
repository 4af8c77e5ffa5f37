"""A small game, its tools, and a server of it whose sessions a test can take away."""

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from openenv_core.client import EnvClient
from openenv_core.environment import Environment
from openenv_core.errors import LossReason, ValidationFailedError
from openenv_core.training import OwnsReward, ToolEnvironment, reward_function
from openenv_core.types import Action, Observation, State
from tests.support.serving import Served

__all__ = ["Climb", "ClimbAction", "ClimbClient", "ClimbTools", "PaidClimbTools", "climb_reward", "lose_sessions"]


class ClimbAction(Action):
    """Go up by so many steps."""

    by: int


class ClimbObservation(Observation):
    """Where one is."""

    text: str = ""
    position: int = 0


class Climb(Environment[ClimbAction, ClimbObservation, State]):
    """Arrive at the top exactly: that pays 1. The seed chooses where the top is, unless ``top`` is given.

    Class attributes are for tests: ``before_step`` runs, on the server's loop, before each step.
    """

    concurrency_safe = True
    execution = "inline"
    before_step: ClassVar[Callable[[], None] | None] = None

    def __init__(self) -> None:
        self._position = self._top = 0

    def reset(
        self, *, seed: int | None = None, episode_id: str | None = None, top: int | None = None
    ) -> ClimbObservation:
        """Start at the bottom."""
        self._position, self._top = 0, top if top is not None else 2 + (seed or 0) % 3
        return ClimbObservation(text=f"The top is {self._top} steps up.")

    def step(self, action: ClimbAction) -> ClimbObservation:
        """Climb. 13 breaks the game, and more than two steps are refused."""
        if Climb.before_step is not None:
            Climb.before_step()
        if action.by == 13:
            raise RuntimeError("the ladder broke")
        if action.by not in (1, 2):
            raise ValidationFailedError(f"by is {action.by}; it must be 1 or 2", errors=[])
        self._position += action.by
        done = self._position >= self._top
        exact = self._position == self._top
        return ClimbObservation(
            text="There." if done else f"{self._top - self._position} steps to go.",
            position=self._position,
            reward=float(exact),
            done=done,
            success=exact if done else None,
        )

    @property
    def state(self) -> State:
        """Nothing to tell."""
        return State()


class ClimbClient(EnvClient[ClimbAction, ClimbObservation, State]):
    """The client."""

    action_type, observation_type, state_type = ClimbAction, ClimbObservation, State


class ClimbTools(ToolEnvironment[ClimbClient]):
    """The tools."""

    client_type = ClimbClient

    def climb(self, by: int) -> str:
        """Climb some steps.

        Args:
            by: How many steps, 1 or 2.

        Returns:
            How far it is to the top.
        """
        return str(self._step(ClimbAction(by=by)).observation.text)

    def muddle(self) -> str:
        """Run into a mistake of whoever wrote this tool."""
        known: dict[str, str] = {}
        return known["nothing"]

    async def climb_later(self, by: int) -> str:
        """Climb some steps, awaiting it.

        Args:
            by: How many steps, 1 or 2.
        """
        return str((await self._step_async(ClimbAction(by=by))).observation.text)


class PaidClimbTools(OwnsReward, ClimbTools):
    """The same, and the environment owns the reward."""


@reward_function(ClimbTools)
def climb_reward(tools: ClimbTools) -> float:
    """What the game paid."""
    return float(sum(tools.episode.rewards))


def lose_sessions(served: Served, count: int, *, at_step: int) -> threading.Event:
    """Have the server lose the first ``count`` sessions that it has at its ``at_step``-th step from now on.

    Returns what is set when they are gone.
    """
    steps = 0
    gone = threading.Event()

    def lose() -> None:
        nonlocal steps
        steps += 1
        if steps == at_step:
            sessions: list[Any] = list(served.gateway.manager.sessions.values())[:count]
            for session in sessions:
                served.gateway.manager.close_soon(session, LossReason.ENV_CRASHED)
            gone.set()

    Climb.before_step = lose
    return gone
