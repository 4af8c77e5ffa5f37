"""Which recorded episodes are wanted."""

from dataclasses import dataclass

from openenv_core.recording.reader import Summary

__all__ = ["Wanted"]


@dataclass(frozen=True)
class Wanted:
    """What an episode must be; ``None`` leaves a question open.

    Attributes:
        environment: its name.
        min_reward, max_reward: bounds of the sum of its rewards, both allowed.
        success: whether the task was solved; an episode that does not tell is neither.
    """

    environment: str | None = None
    min_reward: float | None = None
    max_reward: float | None = None
    success: bool | None = None

    def takes(self, episode: Summary) -> bool:
        """Whether an episode is wanted."""
        return (
            self.environment in (None, episode.environment)
            and (self.min_reward is None or episode.reward >= self.min_reward)
            and (self.max_reward is None or episode.reward <= self.max_reward)
            and self.success in (None, episode.success)
        )
