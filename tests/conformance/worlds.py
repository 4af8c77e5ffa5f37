"""A small guessing game that keeps all its promises, and one broken copy of it for each promise.

Longer than 400 lines: every promise has its breaker here, side by side.
"""

import random
import threading
import time
from typing import Annotated, Any, ClassVar, Literal

import numpy
from pydantic import Field, field_serializer, field_validator

from openenv_core.environment import Environment
from openenv_core.errors import EpisodeOverError
from openenv_core.types import Action, Observation, State


class GuessAction(Action):
    """Guess a number, and say something."""

    guess: int = Field(ge=0, le=9)
    remark: str = Field(default="", max_length=20)


class GuessObservation(Observation):
    """What came of it. ``weather`` is drawn anew at every step."""

    hint: Literal["start", "higher", "lower", "right"] = "start"
    said: str = ""
    weather: int = Field(default=0, le=999)
    past: list[int] = []


class GuessState(State):
    """How many guesses are left."""

    left: int = Field(default=6, le=6)


class Guess(Environment[GuessAction, GuessObservation, GuessState]):
    """Guess a number from 0 to 9 within six tries."""

    concurrency_safe = True

    def __init__(self) -> None:
        self.random = random.Random()
        self.secret = 0
        self.past: list[int] = []
        self.told = GuessState()

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        """Choose a number."""
        self.random = self.generator(seed)
        self.secret = self.random.randint(0, 9)
        self.past = []
        self.told = GuessState(episode_id=episode_id)
        return GuessObservation(weather=self.random.randint(0, 999))

    def generator(self, seed: int | None) -> random.Random:
        """Where an episode draws from."""
        return random.Random(seed)

    def step(self, action: GuessAction) -> GuessObservation:
        """Compare."""
        self.told.step_count += 1
        self.told.left -= 1
        self.past.append(action.guess)
        right = action.guess == self.secret
        return GuessObservation(
            hint="right" if right else "higher" if action.guess < self.secret else "lower",
            said=action.remark,
            weather=self.random.randint(0, 999),
            past=list(self.past),
            reward=1.0 if right else 0.0,
            done=right or self.told.left == 0,
            success=right if right or self.told.left == 0 else None,
        )

    @property
    def state(self) -> GuessState:
        """Steps and guesses left."""
        return self.told


class IgnoresSeed(Guess):
    """Takes a seed and throws it away."""

    def generator(self, seed: int | None) -> random.Random:
        return random.Random()


class SameForEverySeed(Guess):
    """Takes a seed, and plays the same whatever it is."""

    def generator(self, seed: int | None) -> random.Random:
        return random.Random(7)


class NothingToSeed(Guess):
    """Plays the same each time, and says so: there is no seed to give."""

    def reset(self, *, episode_id: str | None = None) -> GuessObservation:  # type: ignore[override]
        return super().reset(seed=7, episode_id=episode_id)


class SecondResetRandom(Guess):
    """Heeds the seed of the first reset only."""

    seeded = False

    def generator(self, seed: int | None) -> random.Random:
        first, self.seeded = not self.seeded, True
        return random.Random(seed) if first else random.Random()


class StepRandom(Guess):
    """Resets as it should, and draws from elsewhere in a step."""

    def step(self, action: GuessAction) -> GuessObservation:
        self.random = random.Random()
        return super().step(action)


class SeedThroughHash(Guess):
    """Makes of the seed what is another number in each process."""

    def generator(self, seed: int | None) -> random.Random:
        return random.Random(None if seed is None else hash(f"seed {seed}"))


class SeedStays(Guess):
    """Takes the last seed for a reset that has none."""

    last: int | None = None

    def generator(self, seed: int | None) -> random.Random:
        self.last = self.last if seed is None else seed
        return random.Random(self.last)


class SecretOfTheClass(Guess):
    """Keeps the number where all sessions see it."""

    shared: ClassVar[int] = 0

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        observation = super().reset(seed=seed, episode_id=episode_id)
        SecretOfTheClass.shared = self.secret
        return observation

    def step(self, action: GuessAction) -> GuessObservation:
        self.secret = SecretOfTheClass.shared
        return super().step(action)


class RemarksOfTheClass(Guess):
    """Shows what was said last, in whichever session."""

    remark: ClassVar[str] = ""

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        RemarksOfTheClass.remark = ""
        return super().reset(seed=seed, episode_id=episode_id)

    def step(self, action: GuessAction) -> GuessObservation:
        observation = super().step(action)
        observation.said, RemarksOfTheClass.remark = RemarksOfTheClass.remark, action.remark
        return observation


class CountsForAll(Guess):
    """Not safe side by side, and one object begins where the last one stopped."""

    concurrency_safe = False
    everybody: ClassVar[GuessState] = GuessState()

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        observation = super().reset(seed=seed, episode_id=episode_id)
        self.told = CountsForAll.everybody
        return observation


class SlowlyOverwritten(Guess):
    """Keeps the guess on the class for the moment of a step."""

    current: ClassVar[int] = 0

    def step(self, action: GuessAction) -> GuessObservation:
        SlowlyOverwritten.current = action.guess
        time.sleep(0.005)
        return super().step(action.model_copy(update={"guess": SlowlyOverwritten.current}))


class OneAtATime(Guess):
    """Keeps all promises and does not promise to run side by side."""

    concurrency_safe = False


class TalkativeObservation(GuessObservation):
    """An observation with a field that the declared class does not have."""

    secret: int = 0


class UndeclaredField(Guess):
    """Returns another class than it declares."""

    def step(self, action: GuessAction) -> GuessObservation:
        return TalkativeObservation(**super().step(action).model_dump(), secret=3)


class OutOfBounds(Guess):
    """Goes around the class's own validation."""

    def step(self, action: GuessAction) -> GuessObservation:
        observation = super().step(action)
        observation.__dict__["weather"] = 5000
        return observation


class NoRealReward(Guess):
    """Pays what is not a number."""

    def step(self, action: GuessAction) -> GuessObservation:
        observation = super().step(action)
        observation.reward = float("nan")
        return observation


class PaysAfterTheEnd(Guess):
    """Goes on to pay after the end."""

    episode_policy = "lenient"

    def step(self, action: GuessAction) -> GuessObservation:
        over = self.told.left == 0 or self.secret in self.past
        observation = super().step(action)
        if over:
            observation.reward, observation.done = 0.5, True
        return observation


class StartsAgainByItself(Guess):
    """Begins a new episode without a word when a step comes after the end."""

    episode_policy = "lenient"

    def step(self, action: GuessAction) -> GuessObservation:
        if self.told.left == 0 or self.secret in self.past:
            return self.reset(seed=0, episode_id=self.told.episode_id)
        return super().step(action)


class RefusesAfterTheEnd(Guess):
    """Lenient, with a refusal of its own."""

    episode_policy = "lenient"

    def step(self, action: GuessAction) -> GuessObservation:
        if self.told.left == 0 or self.secret in self.past:
            raise EpisodeOverError("this game is over")
        return super().step(action)


class NeedsReset(RefusesAfterTheEnd):
    """Breaks in a step that comes before reset, and when its state is read."""

    def __init__(self) -> None:
        """Nothing is there before reset."""


class KeepsHistory(Guess):
    """Carries what was said over into the next episode."""

    def __init__(self) -> None:
        super().__init__()
        self.remarks: list[str] = []

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        observation = super().reset(seed=seed, episode_id=episode_id)
        observation.said = " ".join(self.remarks)
        return observation

    def step(self, action: GuessAction) -> GuessObservation:
        self.remarks.append(action.remark or "nothing")
        return super().step(action)


class Nameless(Guess):
    """Has a state of its own and forgets the episode's name."""

    def reset(self, *, seed: int | None = None) -> GuessObservation:  # type: ignore[override]
        return super().reset(seed=seed)


class KeepsName(RefusesAfterTheEnd):
    """Goes on under the old name where no new one is given."""

    name: str | None = None

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        self.name = episode_id or self.name
        return super().reset(seed=seed, episode_id=self.name)


class Miscounts(Guess):
    """Counts every step twice."""

    def step(self, action: GuessAction) -> GuessObservation:
        self.told.step_count += 1
        return super().step(action)


class StateOutOfBounds(Guess):
    """Tells of more guesses than there can be."""

    @property
    def state(self) -> GuessState:
        return GuessState.model_construct(**{**self.told.model_dump(), "left": 99})


class AcceptingAction(GuessAction):
    """An action that takes anything for a number."""

    @field_validator("guess", mode="before")
    @classmethod
    def _mend(cls, value: Any) -> Any:
        return value if isinstance(value, int) else 0


class AcceptsAnything(Guess, Environment[AcceptingAction, GuessObservation, GuessState]):
    """Takes whatever a client sends for an action."""


class BreaksOnIllegal(Guess):
    """Lets a library's error out for an action that is not legal."""

    def step(self, action: GuessAction) -> GuessObservation:
        if action.guess > 6:
            raise KeyError(action.guess)
        return super().step(action)


class DrawsFromTheProcess(Guess):
    """Draws from the process-wide generator, though nothing comes of it."""

    def step(self, action: GuessAction) -> GuessObservation:
        random.random()
        return super().step(action)


class SeedsTheProcess(Guess):
    """Seeds the process-wide generator of numpy."""

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        numpy.random.seed(seed)
        return super().reset(seed=seed, episode_id=episode_id)


class OneBuffer(Guess):
    """Returns the same object each time."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = GuessObservation()

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> GuessObservation:
        return self.filled(super().reset(seed=seed, episode_id=episode_id))

    def step(self, action: GuessAction) -> GuessObservation:
        return self.filled(super().step(action))

    def filled(self, observation: GuessObservation) -> GuessObservation:
        """The buffer, with what an observation says."""
        for name in GuessObservation.model_fields:
            setattr(self.buffer, name, getattr(observation, name))
        return self.buffer


class SharedList(Guess):
    """Hands out the very list that it goes on filling."""

    def step(self, action: GuessAction) -> GuessObservation:
        observation = super().step(action)
        observation.__dict__["past"] = self.past
        return observation


class ClosesOnce(Guess):
    """Cannot be closed again."""

    def __init__(self) -> None:
        super().__init__()
        self.resource: dict[str, int] = {"handle": 1}

    def close(self) -> None:
        del self.resource["handle"]


class CutObservation(GuessObservation):
    """An observation whose texts do not come out whole."""

    @field_serializer("said")
    def _cut(self, said: str) -> str:
        return said[:3]


class LosesText(Guess, Environment[GuessAction, CutObservation, GuessState]):
    """Sends less than it says."""

    def step(self, action: GuessAction) -> GuessObservation:
        return CutObservation(**Guess.step(self, action).__dict__)


class LosesAnswers(Guess):
    """Says by itself what it does with options, which is nothing."""

    episode_policy = "lenient"


class AnyOption(Guess):
    """Takes whatever option it is given."""

    def reset(self, *, seed: int | None = None, episode_id: str | None = None, **options: Any) -> GuessObservation:
        return super().reset(seed=seed, episode_id=episode_id)


class Walk(Action):
    """Go somewhere."""

    kind: Literal["walk"]
    steps: int = Field(ge=1, le=3)


class Speak(Action):
    """Say something."""

    kind: Literal["speak"]
    text: str = Field(min_length=4, max_length=12)


class Wander(Environment[Annotated[Walk | Speak, Field(discriminator="kind")], GuessObservation, State]):
    """Two kinds of actions, and a state that is the framework's own."""

    concurrency_safe = True
    execution = "inline"
    max_steps = 8

    def reset(self, *, seed: int | None = None) -> GuessObservation:
        """Begin anew."""
        self.random = random.Random(seed)
        return GuessObservation(weather=self.random.randint(0, 999))

    def step(self, action: Walk | Speak) -> GuessObservation:
        """Answer each kind in its way."""
        said = action.text if isinstance(action, Speak) else "." * action.steps
        return GuessObservation(said=said, weather=self.random.randint(0, 999), reward=float(len(said)))


class FreeAction(Action):
    """Say anything under any names."""

    said: dict[str, Any] = {}


class ShowsOrder(Environment[FreeAction, GuessObservation, State]):
    """Keeps all promises, and shows the names in the order in which they came."""

    def reset(self, *, seed: int | None = None) -> GuessObservation:
        """Begin anew."""
        return GuessObservation(weather=random.Random(seed).randint(0, 999))

    def step(self, action: FreeAction) -> GuessObservation:
        """Tell the names."""
        return GuessObservation(said=",".join(action.said), reward=0.0)


class ScoredObservation(GuessObservation):
    """An observation with a score, where there is one."""

    score: float = 0.0


class NoScoreYet(Guess, Environment[GuessAction, ScoredObservation, GuessState]):
    """Keeps all promises, and tells by NaN that there is no score."""

    def step(self, action: GuessAction) -> GuessObservation:
        return ScoredObservation(**super().step(action).model_dump(), score=float("nan"))


class OnceInAWhile(Environment[FreeAction, GuessObservation, State]):
    """Keeps all promises; hardly an episode looks different from the others."""

    def reset(self, *, seed: int | None = None) -> GuessObservation:
        """Begin anew."""
        return GuessObservation(weather=self.draw() if seed is None else int(seed % 1000 == 999))

    @staticmethod
    def draw() -> int:
        """What an episode without a seed looks like."""
        return int(random.Random().randint(0, 999) == 999)

    def step(self, action: FreeAction) -> GuessObservation:
        """Say nothing."""
        return GuessObservation(reward=0.0)


class Hangs(Guess):
    """Waits in step and in close until somebody opens the gate."""

    gate: ClassVar[threading.Event] = threading.Event()

    def step(self, action: GuessAction) -> GuessObservation:
        self.gate.wait()
        return super().step(action)

    def close(self) -> None:
        self.gate.wait()


class CannotBeMade(Guess):
    """Fails in its constructor."""

    def __init__(self) -> None:
        raise RuntimeError("no world today")


class AsyncGuess(Guess):
    """The good game with methods that are awaited."""

    async def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> Any:  # type: ignore[override]
        return super().reset(seed=seed, episode_id=episode_id)

    async def step(self, action: GuessAction) -> Any:  # type: ignore[override]
        return super().step(action)

    async def close(self) -> None:
        """Nothing is held."""
