"""Which games a server offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openspiel_env_server.games import parameters_of
from openspiel_env_server.settings import OpenSpielSettings

__all__ = ["OfferedGame", "offered_games"]


@dataclass(frozen=True)
class OfferedGame:
    """A game that a client may choose.

    Attributes:
        env_id: the library's short name, ``game_name`` of a reset.
        runs: always true: what cannot be played is not offered.
        note: its parameters that may be chosen.
    """

    env_id: str
    runs: bool = True
    note: str = ""


def offered_games() -> tuple[OfferedGame, ...]:
    """The games that ``reset`` may choose with the environment variables as they are, sorted.

    Where the operator offers all games, those that have bounds for their parameters are listed.
    """
    settings = OpenSpielSettings.from_environ()
    names = settings.choosable_games
    bounds = settings.bounds
    return tuple(OfferedGame(name, note=_note(name, bounds.get(name, {}))) for name in sorted(names or bounds))


def _note(name: str, bounds: Mapping[str, Sequence[int]]) -> str:
    chosen = [parameter for parameter in parameters_of(name) if parameter in bounds]
    return f"parameters: {', '.join(chosen)}" if chosen else ""
