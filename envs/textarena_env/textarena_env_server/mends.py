"""Corrections to TextArena's modules, made on the private copy right after a module has been executed.

Each is a fault that an agent would otherwise learn from, or a server suffer from. Nothing else of a game is changed.
"""

import functools
import threading
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from openenv_core.errors import ConfigurationError
from textarena_env_server.words import OrderedSet, allowed_words, common_words, is_allowed

__all__ = ["mend"]


def mend(module: ModuleType) -> None:
    """Apply what there is for this module."""
    for correction in _MENDS.get(module.__name__, ()):
        correction(module)


def _argument_order(module: ModuleType) -> None:
    """Countdown passes sender, text and type of a message in the wrong order, and the text is lost."""
    original = module.State.add_observation

    def add_observation(self: Any, message: Any, observation_type: Any, from_id: Any = -1, to_id: int = -1) -> None:
        if isinstance(observation_type, str):
            message, observation_type, from_id = observation_type, from_id, message
        original(self, message, observation_type, from_id, to_id)

    module.State.add_observation = add_observation


def _refusals(module: ModuleType) -> None:
    """Countdown, Cryptarithm, Slitherlink and Three-Card Monte swap reason and reward, which makes the reward a text.

    Every state also keeps the reason of the last refusal in ``refusal``, for the observation.
    """
    for cls in vars(module).values():
        original = getattr(cls, "set_invalid_move", None)
        if isinstance(cls, type) and original is not None:
            cls.refusal = None  # type: ignore[attr-defined]
            cls.set_invalid_move = _with_refusal(original)  # type: ignore[attr-defined]


def _with_refusal(original: Callable[..., Any]) -> Callable[..., Any]:
    def set_invalid_move(self: Any, reason: Any, *arguments: Any, **options: Any) -> Any:
        if arguments and isinstance(arguments[0], str):
            reason, arguments = arguments[0], (reason, *arguments[1:])
        self.refusal = str(reason)
        return original(self, reason, *arguments, **options)

    return set_invalid_move


def _single_player_winners(module: ModuleType) -> None:
    """The Fifteen Puzzle names its winner by a method that the state of one player lacks: solving it crashed."""

    def set_winners(self: Any, player_ids: list[int], reason: str) -> None:
        self.set_outcome(reward=1.0 if 0 in player_ids else 0.0, reason=reason)

    module.SinglePlayerState.set_winners = set_winners


def _wordle_words(module: ModuleType) -> None:
    """Wordle filters its list anew for each game. The list is shared here, and each word of it can be guessed."""

    def load(self: Any, hardcore: bool = False) -> None:
        words = allowed_words(self.word_length) if hardcore else common_words(self.word_length)
        if not words:
            raise ConfigurationError(f"Wordle: there is no word of {self.word_length} letters to hide")
        # The dictionary is read now, while a server starts, and not during the first guess.
        is_allowed(words[0])
        self.word_list = words

    module.WordleEnv._load_word_list = load


def _ladder_ends(module: ModuleType) -> None:
    """Word Ladder looks for its two words in a loop that may never end, over paths that may take gigabytes."""

    def sample(self: Any) -> tuple[str, str]:
        draw = module.random
        for length in draw.sample(range(3, 12), 9):
            graph = _ladder_graph(length)
            for start in draw.sample(common_words(length), len(graph)):
                steps = _ladder_steps(graph, start, self.max_distance)
                ends = [word for word, distance in steps.items() if distance >= self.min_distance]
                if ends:
                    return start, draw.choice(ends)
        raise ConfigurationError(
            f"Word Ladder: no two common words are {self.min_distance} to {self.max_distance} steps apart"
        )

    module.WordLadderEnv._sample_start_target = sample


@functools.cache
def _ladder_graph(length: int) -> dict[str, list[str]]:
    """The common words of a length, each with those that differ in one letter."""
    alike: dict[str, list[str]] = {}
    words = common_words(length)
    for word in words:
        for place in range(length):
            alike.setdefault(f"{word[:place]}_{word[place + 1 :]}", []).append(word)
    return {
        word: [
            other for place in range(length) for other in alike[f"{word[:place]}_{word[place + 1 :]}"] if other != word
        ]
        for word in words
    }


def _ladder_steps(graph: Mapping[str, list[str]], start: str, limit: int) -> dict[str, int]:
    """Steps from ``start`` to each word within ``limit`` steps."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        word = queue.popleft()
        if found[word] == limit:
            break
        for after in graph[word]:
            if after not in found:
                found[after] = found[word] + 1
                queue.append(after)
    return found


class _Means(dict[str, float]):
    """The mean reward of each button; equal to the name of the best one, with which the Bandit compares it."""

    def __eq__(self, other: object) -> bool:
        return self.get(other) == max(self.values()) if isinstance(other, str) else super().__eq__(other)

    __hash__ = None


def _bandit_reward(module: ModuleType) -> None:
    """The Bandit never found its best button equal to the choice, and paid more the worse the choice was."""
    reset = module.BanditEnv.reset

    def reset_with_means(self: Any, num_players: int, seed: int | None = None) -> None:
        reset(self, num_players=num_players, seed=seed)
        self.state.game_state["ground_truth"] = _Means(self.state.game_state["ground_truth"])

    def negative_regret(self: Any, button: str) -> float:
        means = self.state.game_state["ground_truth"]
        return float(means[button] - max(means.values()))

    module.BanditEnv.reset = reset_with_means
    module.BanditEnv._regret = negative_regret


def _order_of_moves(module: ModuleType) -> None:
    """Several moves in one message were carried out in an order that differs from process to process."""
    module.set = OrderedSet  # type: ignore[attr-defined]


def _one_at_a_time(module: ModuleType) -> None:
    """Sokoban keeps the search for a room in global variables, which two sessions would share."""
    lock = threading.Lock()
    generate = module.generate_room

    def generate_room(*arguments: Any, **options: Any) -> Any:
        with lock:
            return generate(*arguments, **options)

    module.generate_room = generate_room  # type: ignore[attr-defined]


_MENDS: Mapping[str, tuple[Callable[[ModuleType], None], ...]] = {
    "textarena.core": (_argument_order,),
    "textarena.state": (_refusals, _single_player_winners),
    "textarena.envs.Wordle.env": (_wordle_words,),
    "textarena.envs.WordLadder.env": (_ladder_ends,),
    "textarena.envs.Bandit.env": (_bandit_reward,),
    "textarena.envs.Crosswords.env": (_order_of_moves,),
    "textarena.envs.LogicPuzzle.env": (_order_of_moves,),
    "textarena.envs.WordSearch.env": (_order_of_moves,),
    "textarena.envs.Sokoban.utils": (_one_at_a_time,),
}
