"""The acme environment."""

from random import Random
from typing import Any

import gymnasium
from openenv_core import Environment, ValidationFailedError
from openenv_core.adapters.spaces import plain_from_sample, sample_from_plain

from acme_env.models import AcmeAction, AcmeObservation, AcmeState

__all__ = ["AcmeEnvironment", "sample_action"]

GYMNASIUM_ID = "CartPole-v1"


class AcmeEnvironment(Environment[AcmeAction, AcmeObservation, AcmeState]):
    """An environment of Gymnasium, with models of its own."""

    concurrency_safe = True  # instances may run side by side in one process
    execution = "thread"  # "inline" is for what never blocks, "process" for what may crash

    def __init__(self) -> None:
        self._hosted: gymnasium.Env[Any, Any] = gymnasium.make(GYMNASIUM_ID)
        self._state = AcmeState()

    def reset(
        self,
        *,
        seed: int | None = None,
        episode_id: str | None = None,
    ) -> AcmeObservation:
        """Start an episode. ``seed`` fixes it, in any session and process."""
        observation, _ = self._hosted.reset(seed=seed)
        self._state = AcmeState(episode_id=episode_id)
        return AcmeObservation(observation=self._plain(observation))

    def step(self, action: AcmeAction) -> AcmeObservation:
        """Do the action; one that the space does not have is refused, and nothing happens."""
        space = self._hosted.action_space
        sample = sample_from_plain(space, action.action)
        if not space.contains(sample):
            message = f"{action.action!r} is no action of {space}"
            raise ValidationFailedError(message)
        observation, reward, terminated, truncated, _ = self._hosted.step(sample)
        self._state.step_count += 1
        return AcmeObservation(
            observation=self._plain(observation),
            reward=float(reward),
            done=terminated or truncated,
            truncated=truncated and not terminated,
        )

    @property
    def state(self) -> AcmeState:
        """Episode id and number of steps."""
        return self._state

    def close(self) -> None:
        """Close what Gymnasium has opened."""
        self._hosted.close()

    def _plain(self, observation: Any) -> Any:
        return plain_from_sample(self._hosted.observation_space, observation)


def sample_action(observation: AcmeObservation, random: Random) -> AcmeAction:
    """An action that is legal, for checks and demonstrations."""
    space = gymnasium.make(GYMNASIUM_ID).action_space
    space.seed(random.getrandbits(31))
    return AcmeAction(action=plain_from_sample(space, space.sample()))
