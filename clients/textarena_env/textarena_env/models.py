"""What an agent and a TextArena game say to each other.

The fields of the public TextArena environment keep their names, types and defaults, so that its clients and servers
understand these models and the other way round.
"""

from typing import Any

from pydantic import Field

from openenv_core.types import Action, Observation, State, WireModel

__all__ = ["TextArenaAction", "TextArenaMessage", "TextArenaObservation", "TextArenaState"]


class TextArenaMessage(WireModel):
    """One message of the game's transcript.

    Attributes:
        sender_id: number of the player who sent it; -1 is the game.
        content: the text.
        category: ``MESSAGE`` for a whole transcript. The ``-raw`` games send each message by itself, as ``PROMPT``,
            ``PLAYER_ACTION``, ``GAME_ACTION_DESCRIPTION``, ``GAME_MESSAGE``, ``GAME_BOARD`` or ``GAME_ADMIN``.
    """

    sender_id: int = -1
    content: str = ""
    category: str = "MESSAGE"


class TextArenaAction(Action):
    """A move in words, for example ``[crane]`` in Wordle or ``[5 3 7]`` in Sudoku.

    Attributes:
        message: the move in square brackets. Text around it is allowed, and reasoning in ``<think>`` tags is not looked
            at; of several moves outside of it, the last one counts in games that take one move at a time.
    """

    message: str


class TextArenaObservation(Observation):
    """What the player sees.

    Attributes:
        prompt: what the game told at the start: its rules, and the position where there is one. Never empty.
        messages: one message with the whole transcript so far, which only grows during an episode; for the ``-raw``
            games the messages that are new.
        current_player_id: whose turn it is.
        legal_players: the numbers of all players.
        info: facts about the last move: ``reward_signals`` where the game has such, ``invalid_reason`` after a move
            that was refused, ``reason`` after the end.
        delta: the text that is new since the last observation; after a reset all of it.
        guess: the move that was read from the last message, in lower case and without brackets; ``None`` where none was
            found, or where the game takes several moves at a time.
        valid: whether the game accepted the last move; ``None`` after a reset.
        feedback: Wordle: one of ``G`` (right place), ``Y`` (elsewhere in the word) and ``X`` (not in the word) for each
            letter of ``guess``, also after the last guess; ``None`` where the guess did not count.
        guesses_left: Wordle: how many guesses are left.
    """

    prompt: str = ""
    messages: list[TextArenaMessage] = Field(default_factory=list)
    current_player_id: int = 0
    legal_players: list[int] = Field(default_factory=list)
    info: dict[str, Any] = Field(default_factory=dict)
    delta: str = ""
    guess: str | None = None
    valid: bool | None = None
    feedback: str | None = None
    guesses_left: int | None = None


class TextArenaState(State):
    """What may be known of a session. Never the answer of the game.

    Attributes:
        env_id: the game, for example ``Wordle-v0``.
        num_players: number of players, all moved by the one client.
        max_turns: limit of turns set by the operator, after which the episode is truncated; ``None`` for none.
        turn: moves that the game has accepted in this episode.
        last_reward: reward of the last step.
        last_info: ``info`` of the last observation.
        raw_state: always empty here; the public server puts the inside of the game into it, answer and all.
    """

    env_id: str = "unknown"
    num_players: int = 1
    max_turns: int | None = None
    turn: int = 0
    last_reward: float = 0.0
    last_info: dict[str, Any] = Field(default_factory=dict)
    raw_state: dict[str, Any] = Field(default_factory=dict)
