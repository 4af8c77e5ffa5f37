"""Which games there are, which of them run here, and how one is built."""

import difflib
import functools
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from openenv_core.errors import ConfigurationError, OpenEnvError
from textarena_env_server.library import library
from textarena_env_server.randomness import Source
from textarena_env_server.settings import KEYWORD_PREFIX, TextArenaSettings

__all__ = ["Game", "GameStatus", "find_game", "runnable_games"]

_SUFFIXES = ("-raw", "-train")
_SEATS = {"ta.SinglePlayerState(": 1, "ta.TwoPlayerState(": 2}
_SLOW = {"Sokoban-v0-medium": "a reset takes from seconds to minutes"}


@dataclass(frozen=True)
class Game:
    """A game that can be built.

    Attributes:
        env_id: its id in TextArena's registry.
        family: the name of its module, for example ``Wordle``.
        cls: its class.
        keywords: the arguments of its constructor.
        wrappers: what TextArena puts around it by default, from the inside out.
    """

    env_id: str
    family: str
    cls: Any
    keywords: Mapping[str, Any]
    wrappers: tuple[Any, ...]

    def build(self) -> Any:
        """One game, not yet started and without wrappers. What it draws comes from the bound source."""
        return self.cls(**self.keywords)

    def try_build(self) -> None:
        """Build one game and throw it away.

        Raises:
            ConfigurationError: the constructor does not take its arguments.
        """
        try:
            with Source(0):
                self.build()
        except ConfigurationError as error:
            raise ConfigurationError(f"TEXTARENA_ENV_ID={self.env_id!r}: {error.message}") from error
        except Exception as error:
            given = ", ".join(f"{name}={value!r}" for name, value in self.keywords.items())
            raise ConfigurationError(
                f"TEXTARENA_ENV_ID={self.env_id!r} cannot be built with {given or 'no arguments'}: {_why(error)}"
            ) from error


@dataclass(frozen=True)
class GameStatus:
    """Whether a game runs here.

    Attributes:
        env_id: the game's id.
        runs: whether a server can play it.
        note: one line: why it does not run, or a caution; empty otherwise.
    """

    env_id: str
    runs: bool
    note: str = ""


def find_game(settings: TextArenaSettings) -> Game:
    """The game that the settings choose.

    Raises:
        ConfigurationError: there is no such game, it cannot run here, or it has no such arguments. The message names
            the variable to change.
    """
    spec = library().registry.get(settings.env_id)
    if spec is None:
        near = difflib.get_close_matches(settings.env_id, library().registry, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ConfigurationError(f"TEXTARENA_ENV_ID={settings.env_id!r}: TextArena has no such game{hint}")
    module, _, name = spec.entry_point.partition(":")
    try:
        cls = getattr(library().load(module), name)
    except (ImportError, SyntaxError, AttributeError) as error:
        raise ConfigurationError(f"TEXTARENA_ENV_ID={settings.env_id!r}: {_why(error)}") from error
    seats = _seats(module)
    if seats not in (None, settings.num_players):
        raise ConfigurationError(f"TEXTARENA_NUM_PLAYERS={settings.num_players}: must be {seats} for {settings.env_id}")
    given = {name: _argument(cls, name, value) for name, value in settings.keywords.items()}
    wrappers = tuple(spec.default_wrappers or ())
    return Game(settings.env_id, module.split(".")[2], cls, {**spec.kwargs, **given}, wrappers)


def _why(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        version = ".".join(map(str, sys.version_info[:2]))
        return f"TextArena's source of this game is not valid on Python {version}: {error.msg}"
    if isinstance(error, ModuleNotFoundError):
        return f"the game needs the package {error.name!r}, which is not installed"
    if isinstance(error, OpenEnvError):
        return error.message
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _argument(cls: Any, name: str, value: Any) -> Any:
    """An argument of a constructor, read by its annotation where it comes as text."""
    parameters = inspect.signature(cls).parameters
    variable = KEYWORD_PREFIX + name.upper()
    if name not in parameters:
        known = ", ".join(parameters) or "none"
        raise ConfigurationError(f"{variable}: {cls.__name__} has no argument {name!r}; it knows {known}")
    if not isinstance(value, str):
        return value
    annotation = parameters[name].annotation
    if annotation is inspect.Parameter.empty:
        default = parameters[name].default
        annotation = type(default) if default not in (inspect.Parameter.empty, None) else str
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except PydanticSchemaGenerationError:
        return value
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
    try:
        return adapter.validate_json(value)
    except ValidationError:
        raise ConfigurationError(f"{variable}={value!r}: {problem}") from None


@functools.cache
def runnable_games() -> tuple[GameStatus, ...]:
    """All single-player games of TextArena, each with whether it runs here and, where it does not, why.

    One game of each family is started to find out, so the first call takes a few seconds.
    """
    found: dict[str, GameStatus] = {}
    by_family: dict[str, str] = {}
    for env_id, spec in library().registry.items():
        module = spec.entry_point.partition(":")[0]
        if env_id.endswith(_SUFFIXES) or _seats(module) != 1:
            continue
        if module not in by_family:
            by_family[module] = _try(env_id)
        problem = by_family[module]
        found[env_id] = GameStatus(env_id, not problem, problem or _SLOW.get(env_id, ""))
    return tuple(found[env_id] for env_id in sorted(found))


@functools.cache
def _seats(module: str) -> int | None:
    """How many players a game takes, told by the state that it makes for itself; ``None`` where that is not fixed."""
    file = library().folder.joinpath(*module.split(".")[1:]).with_suffix(".py")
    source = file.read_text(encoding="utf-8") if file.exists() else ""
    return next((seats for call, seats in _SEATS.items() if call in source), None)


def _try(env_id: str) -> str:
    """Start a game; why it does not start, or an empty string."""
    try:
        game = find_game(TextArenaSettings(env_id=env_id))
        game.try_build()
        with Source(0):
            game.build().reset(num_players=1, seed=0)
    except ConfigurationError as error:
        return error.message.removeprefix(f"TEXTARENA_ENV_ID={env_id!r}: ")
    except Exception as error:  # noqa: BLE001 - whatever a game raises when it starts is why it does not run
        return _why(error)
    return ""
