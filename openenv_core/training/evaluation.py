"""How well a model does on an environment: episodes from fixed seeds, what became of each, and figures over all."""

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from openenv_core.errors import ConfigurationError, OpenEnvError
from openenv_core.training.factory import EnvironmentFactory
from openenv_core.training.record import Fault
from openenv_core.training.schemas import tool_names, tool_schemas
from openenv_core.training.tool_environment import ToolEnvironment

__all__ = ["ChatModel", "Evaluation", "Message", "ModelFailedError", "PlayedEpisode", "evaluate", "play"]

Message = dict[str, Any]


class ModelFailedError(OpenEnvError):
    """A model gave no answer: its server failed or could not be reached. Says nothing about how well it plays."""


class ChatModel(Protocol):
    """What plays. It may be called from several threads."""

    sees: bool
    """Whether it takes pictures."""

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        """The assistant's next message, with ``tool_calls`` in the form of OpenAI's API.

        Raises:
            ModelFailedError: there is none; the episode does not count.
        """
        ...


@dataclass(frozen=True)
class PlayedEpisode:
    """One episode.

    Attributes:
        seed: it was started with.
        reward: sum of what the environment has paid; ``None`` after a fault, and the episode does not count then.
        success: whether the task was solved; ``None`` where that has no meaning or the model ended too early.
        finished: the environment has ended the episode, rather than the model or the limit of turns.
        steps: actions that the environment has done.
        invalid_actions: tool calls that were refused, by the tool or the environment.
        turns: answers of the model.
        seconds: from the reset to the end.
        fault: why it does not count; ``None`` where all is well.
        messages: the whole conversation.
    """

    seed: int
    reward: float | None
    success: bool | None
    finished: bool
    steps: int
    invalid_actions: int
    turns: int
    seconds: float
    fault: Fault | None = None
    messages: list[Message] = field(default_factory=list, repr=False)

    def to_json(self, *, transcript: bool = False) -> dict[str, Any]:
        """As JSON; pictures in a transcript become a note of their size."""
        document = {**asdict(self), "seconds": round(self.seconds, 3)}
        document["messages"] = json.loads(json.dumps(self.messages, default=_noted))
        if not transcript:
            del document["messages"]
        return document


@dataclass(frozen=True)
class Evaluation:
    """All episodes, in the order of their seeds."""

    episodes: list[PlayedEpisode]

    @property
    def counted(self) -> list[PlayedEpisode]:
        """The episodes without a fault."""
        return [episode for episode in self.episodes if episode.fault is None]

    def summary(self) -> dict[str, float | int | None]:
        """Figures over the episodes that count; ``None`` where there is nothing to take a mean of."""
        counted = self.counted
        rewards = [episode.reward for episode in counted if episode.reward is not None]
        solved = [episode for episode in counted if episode.success]
        error = statistics.stdev(rewards) / len(rewards) ** 0.5 if len(rewards) > 1 else None
        return {
            "episodes": len(self.episodes),
            "counted": len(counted),
            "faults": len(self.episodes) - len(counted),
            "solved": len(solved),
            "success_rate": len(solved) / len(counted) if counted else None,
            "mean_reward": _mean(rewards),
            "standard_error": error,
            "mean_steps": _mean([episode.steps for episode in counted]),
            "mean_steps_if_solved": _mean([episode.steps for episode in solved]),
            "invalid_actions": sum(episode.invalid_actions for episode in counted),
            "finished": sum(episode.finished for episode in counted),
        }

    def to_json(self, *, transcripts: bool = False) -> dict[str, Any]:
        """Figures and episodes, as JSON."""
        return {
            "summary": self.summary(),
            "episodes": [episode.to_json(transcript=transcripts) for episode in self.episodes],
        }


def evaluate(
    factory: EnvironmentFactory,
    model: ChatModel,
    seeds: Iterable[int],
    *,
    prompt: str | None = None,
    options: Mapping[str, Any] | None = None,
    concurrency: int = 8,
    max_turns: int = 30,
    report: Callable[[PlayedEpisode], None] | None = None,
) -> Evaluation:
    """Let a model play one episode for each seed.

    A fault of the infrastructure, the model's own included, takes an episode out of the figures; it is never a reward.

    Args:
        factory: of the tool environments; its server must allow ``concurrency`` sessions.
        model: plays.
        seeds: of the episodes.
        prompt: what the user says; default: the prompt of the tools' class.
        options: further columns for every ``reset``.
        concurrency: episodes at a time.
        max_turns: an episode ends after so many answers of the model.
        report: called after each episode, from any thread, one call at a time.

    Raises:
        ConfigurationError: the model sees no pictures and the environment shows them; a reset refuses an option.
    """
    if concurrency < 1 or max_turns < 1:
        raise ConfigurationError(f"concurrency is {concurrency} and max_turns {max_turns}; both must be 1 or more")
    if factory.tools.shows_pictures and not model.sees:
        raise ConfigurationError(
            f"{factory.tools.__name__} shows pictures, and this model reads text only; use tools that show text"
        )
    said = factory.tools.prompt if prompt is None else prompt
    slots = threading.local()
    lock = threading.Lock()

    def one(seed: int) -> PlayedEpisode:
        if not hasattr(slots, "environment"):
            slots.environment = factory()
        row = {**(options or {}), "seed": seed}
        played = play(slots.environment, model, row, prompt=said, max_turns=max_turns)
        if report is not None:
            with lock:
                report(played)
        return played

    try:
        with ThreadPoolExecutor(concurrency, thread_name_prefix="openenv-eval") as threads:
            return Evaluation(list(threads.map(one, seeds)))
    finally:
        factory.close()


def play(
    environment: ToolEnvironment[Any], model: ChatModel, row: Mapping[str, Any], *, prompt: str, max_turns: int = 30
) -> PlayedEpisode:
    """Let a model play one episode.

    Args:
        environment: is reset first.
        model: plays.
        row: what the reset is given, ``seed`` among it.
        prompt: what the user says; the first observation is added to it.
        max_turns: answers of the model.
    """
    started = time.perf_counter()
    first = environment.reset(**row)
    messages: list[Message] = [{"role": "user", "content": _content(prompt, first)}]
    schemas = tool_schemas(type(environment))
    fault, turns = environment.episode.fault, 0
    while fault is None and turns < max_turns:
        try:
            answer = model.complete(messages, schemas)
        except ModelFailedError as error:
            fault = Fault("model", error.message)
            break
        turns += 1
        messages.append(answer)
        calls = answer.get("tool_calls") or []
        messages += [_called(environment, call) for call in calls]
        fault = environment.episode.fault
        if not calls or environment.done:
            break
    episode = environment.episode
    return PlayedEpisode(
        seed=int(row["seed"]),
        reward=None if fault is not None else episode.reward,
        success=episode.success,
        finished=episode.done,
        steps=episode.steps,
        invalid_actions=episode.invalid_actions,
        turns=turns,
        seconds=time.perf_counter() - started,
        fault=fault,
        messages=messages,
    )


def _called(environment: ToolEnvironment[Any], call: Mapping[str, Any]) -> Message:
    """The answer to a tool call; what is wrong with the call is told to the model, as a trainer does."""
    function = call.get("function") or {}
    name = str(function.get("name"))
    reply: Message = {"role": "tool", "name": name, "tool_call_id": str(call.get("id", ""))}
    try:
        arguments = function.get("arguments") or {}
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        if name not in tool_names(type(environment)) or not isinstance(arguments, dict):
            environment.episode.invalid_actions += 1
            raise ValueError(f"there is no tool {name!r} that takes {arguments!r}")
        told = getattr(environment, name)(**arguments)
    except json.JSONDecodeError as error:
        environment.episode.invalid_actions += 1
        told = f"error: the arguments are not JSON: {error}"
    except ValueError as error:
        told = f"error: {error}"
    return {**reply, "content": told if isinstance(told, list) else str(told)}


def _content(prompt: str, first: Any) -> Any:
    if isinstance(first, list):
        return [{"type": "text", "text": prompt}, *first]
    return prompt + (first or "")


def _noted(value: Any) -> str:
    size = getattr(value, "size", None)
    return f"({type(value).__name__} {size})" if size is not None else str(value)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
