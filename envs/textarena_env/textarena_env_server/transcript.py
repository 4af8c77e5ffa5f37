"""What a game says, as the player is told it."""

from typing import Any, Final

from textarena_env.models import TextArenaMessage
from textarena_env_server.games import Game

__all__ = ["Transcript"]

_GAME: Final = -1
_WHOLE_TRANSCRIPT: Final = "LLMObservationWrapper"


class _Tap:
    """Stands between a game and its wrappers and keeps the messages that pass."""

    def __init__(self, game: Any) -> None:
        self._game = game
        self.passed: list[tuple[int, str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def get_observation(self) -> tuple[int, list[tuple[int, str, Any]]]:
        """The messages that are new for the player whose turn it is."""
        player, self.passed = self._game.get_observation()
        return player, self.passed


class Transcript:
    """A game of one episode and all that it has said.

    The games whose id has no suffix show the whole transcript, the ``-train`` games what the library's wrappers make of
    it, the ``-raw`` games each new message by itself.

    Attributes:
        game: the game.
        wrapped: the game with its wrappers around it.
        delta: the text that the last reading brought.
    """

    def __init__(self, recipe: Game) -> None:
        self.game: Any = recipe.build()
        self.delta = ""
        self._tap = _Tap(self.game)
        self.wrapped: Any = self._tap
        self._is_whole = False
        self._is_raw = not recipe.wrappers
        for wrapper in recipe.wrappers:
            # The whole transcript is kept here: the library's wrapper puts all of it together anew with each message.
            if wrapper.__name__ == _WHOLE_TRANSCRIPT:
                self._is_whole = True
            else:
                self.wrapped = wrapper(self.wrapped)
        self._texts: dict[int, str] = {}
        self._prompts: dict[int, str] = {}
        self._view: str | None = None
        self._name = recipe.env_id

    @property
    def state(self) -> Any:
        """The library's own state of the game. It holds the answer."""
        return self.game.state

    @property
    def prompt(self) -> str:
        """What the player whose turn it is was told first: the rules, and the position where there is one."""
        return self._prompts.get(self.state.current_player_id) or f"You are playing {self._name}."

    def read(self) -> None:
        """Take in what is new."""
        try:
            player, seen = self.wrapped.get_observation()
        except (AssertionError, IndexError, KeyError, ValueError):
            # Some wrappers want a board where the game has none; the transcript tells what there is.
            player, seen = self.state.current_player_id, None
        self._view = seen if isinstance(seen, str) else None
        new = self._tap.passed
        self.delta = "".join(self._line(sender, text) for sender, text, _ in new)
        self._texts[player] = self._texts.get(player, "") + self.delta
        if player not in self._prompts:
            told = self.messages()
            rules = [message for message in told if message.category == "PROMPT"] or told
            self._prompts[player] = "\n".join(message.content for message in rules).strip()

    def say(self, text: str) -> None:
        """Add words of the game that the library leaves out."""
        line = self._line(_GAME, text)
        self.delta += line
        player = self.state.current_player_id
        self._texts[player] = self._texts.get(player, "") + line
        if self._view is not None:
            self._view += line
        self._tap.passed = [*self._tap.passed, (_GAME, text, None)]

    def messages(self) -> list[TextArenaMessage]:
        """The messages as the public environment sends them."""
        if self._is_raw:
            return _joined(self._tap.passed)
        if self._is_whole or self._view is None:
            text = self._texts.get(self.state.current_player_id, "")
            return [TextArenaMessage(content=text)] if text else []
        refusals = [
            TextArenaMessage(sender_id=sender, content=text, category=kind.name)
            for sender, text, kind in self._tap.passed
            if kind is not None and kind.name == "GAME_ADMIN" and text not in self._view
        ]
        return [TextArenaMessage(content=self._view), *refusals]

    def _line(self, sender: int, text: str) -> str:
        name = "GAME" if sender == _GAME else self.state.role_mapping.get(sender, f"Player {sender}")
        return f"\n[{name}] {text}"


def _joined(new: list[tuple[int, str, Any]]) -> list[TextArenaMessage]:
    """Messages one by one; those of the same sender and kind that follow each other are joined."""
    joined: list[TextArenaMessage] = []
    for sender, text, kind in new:
        category = kind.name if kind is not None else "GAME_MESSAGE"
        if joined and (joined[-1].sender_id, joined[-1].category) == (sender, category):
            joined[-1].content += text
        else:
            joined.append(TextArenaMessage(sender_id=sender, content=text, category=category))
    return joined
