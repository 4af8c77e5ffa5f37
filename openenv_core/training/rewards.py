"""Reward functions in the form that trainers take, made from functions that look at one rollout."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from openenv_core.errors import ConfigurationError
from openenv_core.training.factory import active
from openenv_core.training.tool_environment import ToolEnvironment

__all__ = ["environment_reward", "reward_function"]

ToolsT = TypeVar("ToolsT", bound=ToolEnvironment[Any])
RewardFunction = Callable[..., list[float | None]]


def reward_function(tools: type[ToolsT]) -> Callable[[Callable[[ToolsT], float | None]], RewardFunction]:
    """Turn a function of one rollout into a reward function of a trainer.

    A rollout with a fault and a rollout of another environment give ``None``, which trainers leave out of account.

    >>> @reward_function(CatchTools)                    # doctest: +SKIP
    ... def caught(tools: CatchTools) -> float:
    ...     return 1.0 if tools.success else 0.0

    Args:
        tools: the tool environment that it is for.
    """

    def decorate(score: Callable[[ToolsT], float | None]) -> RewardFunction:
        @functools.wraps(score)
        def rewards(environments: Sequence[Any] | None = None, **_: Any) -> list[float | None]:
            if environments is None:
                raise ConfigurationError(
                    f"this trainer passes no environments to reward functions, so {score.__name__} cannot be used with "
                    f"it; let {tools.__name__} own its reward (OwnsReward)"
                )
            found = [active(environment) for environment in environments]
            ours = [environment for environment in found if isinstance(environment, tools)]
            for monitor in {id(one._monitor): one._monitor for one in ours}.values():
                monitor.collect([one.episode for one in ours if one._monitor is monitor])
            return [_score(score, environment) if isinstance(environment, tools) else None for environment in found]

        # What wraps() copies describes one rollout; a trainer calls it with all of them.
        del rewards.__wrapped__
        return rewards

    return decorate


def _score(score: Callable[[ToolsT], float | None], environment: ToolsT) -> float | None:
    if environment.episode.fault is not None or not environment.episode.begun:
        return None
    value = score(environment)
    return None if value is None else float(value)


@reward_function(ToolEnvironment)
def environment_reward(tools: ToolEnvironment[Any]) -> float | None:
    """The sum of the rewards that the environment has paid."""
    return tools.reward
