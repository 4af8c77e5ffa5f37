"""The TextArena environment: one game of the library behind the contract of an environment."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from openenv_core.environment import Environment, Execution
from openenv_core.errors import EpisodeNotStartedError, EpisodeOverError, InvalidRewardError
from textarena_env.models import TextArenaAction, TextArenaMessage, TextArenaObservation, TextArenaState
from textarena_env_server import wordle
from textarena_env_server.games import Game, find_game
from textarena_env_server.moves import Move, read_move
from textarena_env_server.randomness import Source
from textarena_env_server.settings import TextArenaSettings
from textarena_env_server.transcript import Transcript

__all__ = ["InlineTextArenaEnvironment", "TextArenaEnvironment"]

_SCORE_GAMES: Final = ("Blackjack", "Set")
"""Games that pay points and cannot be solved: ``success`` has no meaning in them."""

_UNSOLVED: Final = ("No moves left", "Move limit reached")
"""How 2048 and Slitherlink say that a game is lost, for which they may still pay 1.0."""


class TextArenaEnvironment(Environment[TextArenaAction, TextArenaObservation, TextArenaState]):
    """A game of TextArena. What is not given is read from the environment variables (see :class:`TextArenaSettings`).

    Args:
        env_id: the game, for example ``Wordle-v0``.
        num_players: number of players, all moved by the one client.
        max_turns: the episode is truncated after so many accepted moves.
        download_nltk: accepted for code written for the public environment; nothing is ever downloaded.
        env_kwargs: arguments of the game's constructor.

    Raises:
        ConfigurationError: the game does not exist or cannot run here, or a variable has a value that cannot work.
    """

    concurrency_safe = True
    execution: ClassVar[Execution] = "thread"

    def __init__(
        self,
        env_id: str | None = None,
        *,
        num_players: int | None = None,
        max_turns: int | None = None,
        download_nltk: bool | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        chosen = TextArenaSettings.from_environ()
        self._settings = TextArenaSettings(
            env_id=env_id or chosen.env_id,
            num_players=num_players or chosen.num_players,
            max_turns=max_turns or chosen.max_turns,
            keywords=chosen.keywords if env_kwargs is None else env_kwargs,
        )
        self._recipe: Game = find_game(self._settings)
        self._source = Source(None)
        self._transcript: Transcript | None = None
        self._guesses: Counter[str] = Counter()
        self._episode_id: str | None = None
        self._steps = 0
        self._last: TextArenaObservation | None = None

    def reset(self, *, seed: int | None = None, episode_id: str | None = None) -> TextArenaObservation:
        """Start a new game. A seed fixes it entirely; without one it is drawn from the operating system's entropy."""
        self._transcript = self._last = None
        self._guesses.clear()
        self._episode_id = episode_id
        self._steps = 0
        self._source = Source(seed)
        # A new game for each episode: the library's own objects carry their transcript over into the next one.
        with self._source:
            transcript = Transcript(self._recipe)
            transcript.game.reset(num_players=self._settings.num_players, seed=seed)
            transcript.read()
        self._transcript = transcript
        return self._observe(transcript, None, 0.0, {})

    def step(self, action: TextArenaAction) -> TextArenaObservation:
        """Make a move. A move that the game refuses is answered in words; a second one in a row ends most games.

        Raises:
            EpisodeNotStartedError, EpisodeOverError: there is no game to play.
            InvalidRewardError: the game's reward is not a finite number.
        """
        transcript = self._transcript
        if transcript is None:
            raise EpisodeNotStartedError("no game is running; call reset first")
        if self._last is not None and self._last.done:
            raise EpisodeOverError("the game is over; call reset to start the next one")
        move = read_move(self._recipe.family, action.message)
        transcript.state.refusal = None
        # If the game raises, what it has done by then is unknown, and nobody should play on.
        self._transcript = None
        with self._source:
            transcript.wrapped.step(move.text)
            transcript.read()
        self._transcript = transcript
        self._steps += 1
        reward = _reward(transcript)
        return self._observe(transcript, move, reward, self._judge(transcript, move, reward))

    @property
    def state(self) -> TextArenaState:
        """The game's name, the limits and the counters. Nothing of the inside of the game."""
        last = self._last
        return TextArenaState(
            episode_id=self._episode_id,
            step_count=self._steps,
            env_id=self._settings.env_id,
            num_players=self._settings.num_players,
            max_turns=self._settings.max_turns,
            turn=0 if last is None else last.metadata["turn"],
            last_reward=0.0 if last is None or last.reward is None else last.reward,
            last_info={} if last is None else last.info,
        )

    def _judge(self, transcript: Transcript, move: Move, reward: float) -> dict[str, Any]:
        """What is to be told about the move, and the closing words if the game has ended."""
        state = transcript.state
        info: dict[str, Any] = dict(state.step_info or {})
        if state.refusal is not None:
            info["invalid_reason"] = state.refusal
        if self._recipe.family == "Wordle":
            marks = None if state.refusal is not None else wordle.feedback(state.game_state)
            info["reward_signals"] = wordle.signals(marks, move.guess, self._guesses, reward)
            if move.guess is not None:
                self._guesses[move.guess] += 1
        if state.done:
            info["reason"] = self._reason(transcript, reward)
            if self._recipe.family == "Wordle" and state.refusal is None and reward >= 1.0:
                transcript.say(wordle.closing_text(state.game_state))
            transcript.say(info["reason"])
        return info

    def _reason(self, transcript: Transcript, reward: float) -> str:
        state = transcript.state
        if self._recipe.family == "Wordle" and state.refusal is None and reward < 1.0:
            return wordle.loss_reason(state.game_state, reward)
        own = state.game_info.get(state.current_player_id, {})
        return str(own.get("reason") or "The game is over.")

    def _success(self, transcript: Transcript, reward: float) -> bool | None:
        state = transcript.state
        if not state.done or self._settings.num_players != 1:
            return None
        if state.game_info[0]["invalid_move"] or str(state.game_info[0].get("reason")).startswith(_UNSOLVED):
            return False
        return None if self._recipe.family in _SCORE_GAMES else reward >= 1.0

    def _observe(
        self, transcript: Transcript, move: Move | None, reward: float, info: dict[str, Any]
    ) -> TextArenaObservation:
        state = transcript.state
        limit = self._settings.max_turns
        truncated = not state.done and limit is not None and state.turn >= limit
        valid = None if move is None else state.refusal is None
        is_wordle = self._recipe.family == "Wordle"
        messages = transcript.messages()
        self._last = TextArenaObservation(
            prompt=transcript.prompt,
            messages=messages,
            current_player_id=state.current_player_id,
            legal_players=sorted(player for player in state.role_mapping if isinstance(player, int) and player >= 0),
            info=info,
            delta=transcript.delta,
            guess=None if move is None else move.guess,
            valid=valid,
            feedback=wordle.feedback(state.game_state) if is_wordle and valid else None,
            guesses_left=wordle.guesses_left(state.game_state) if is_wordle else None,
            reward=reward,
            done=state.done or truncated,
            truncated=truncated,
            success=self._success(transcript, reward),
            metadata=_metadata(self._settings.env_id, state.turn, messages, info),
        )
        return self._last


class InlineTextArenaEnvironment(TextArenaEnvironment):
    """For games whose calls take microseconds: they run on the server's own loop."""

    execution = "inline"


def _reward(transcript: Transcript) -> float:
    """The game's reward for the player who moved; 0.0 until it has one."""
    rewards = transcript.state.rewards
    if not isinstance(rewards, dict):
        return 0.0
    value = rewards.get(transcript.state.current_player_id, rewards.get(0, 0.0))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidRewardError(f"the game's reward is {value!r}, not a finite number", reward=repr(value))
    return float(value)


def _metadata(env_id: str, turn: int, messages: list[TextArenaMessage], info: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that clients of the public environment read."""
    metadata: dict[str, Any] = {
        "env_id": env_id,
        "turn": turn,
        "raw_messages": [message.model_dump() for message in messages],
    }
    if "reward_signals" in info:
        metadata["reward_signals"] = info["reward_signals"]
    return metadata
