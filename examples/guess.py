"""A whole environment in one file: guess a number.

Serve it:    openenv serve guess:GuessEnvironment        (in this folder)
Check it:    openenv check guess:GuessEnvironment
Play it:     python guess.py http://127.0.0.1:8000
"""

import random
import sys

from openenv_core import Action, EnvClient, Environment, Observation, State


class GuessAction(Action):
    """Guess ``number``."""

    number: int


class GuessObservation(Observation):
    """``hint``: whether the number sought is higher, lower, or found."""

    hint: str


class GuessEnvironment(Environment[GuessAction, GuessObservation, State]):
    """Think of a number from 1 to ``top`` and answer guesses with higher or lower."""

    concurrency_safe = True
    execution = "inline"
    max_steps = 20

    def reset(self, *, seed: int | None = None, episode_id: str | None = None, top: int = 100) -> GuessObservation:
        """Think of a number; ``seed`` fixes which."""
        self._sought = random.Random(seed).randint(1, top)
        return GuessObservation(hint=f"I think of a number from 1 to {top}.")

    def step(self, action: GuessAction) -> GuessObservation:
        """Compare the guess with the number."""
        if action.number == self._sought:
            return GuessObservation(hint="found", reward=1.0, done=True, success=True)
        return GuessObservation(hint="higher" if self._sought > action.number else "lower", reward=0.0)


class GuessEnv(EnvClient[GuessAction, GuessObservation, State]):
    """The typed client: three attributes and nothing else."""

    action_type, observation_type, state_type = GuessAction, GuessObservation, State


def main(base_url: str) -> None:
    """Find the number by halving."""
    with GuessEnv(base_url=base_url) as env:
        low, high = 1, 100
        print(env.reset(seed=7).observation.hint)
        while True:
            guess = (low + high) // 2
            result = env.step(GuessAction(number=guess))
            print(guess, result.observation.hint)
            if result.done:
                print("reward", result.reward)
                return
            low, high = (guess + 1, high) if result.observation.hint == "higher" else (low, guess - 1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
