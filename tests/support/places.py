"""The backends, each with the kind of environment that suits it: tests of sessions run on all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from openenv_core.backends import Backend, InlineBackend, ThreadBackend
from tests.support.journal import AwaitingWorld, BlockingWorld, Factory, Journal

__all__ = ["PLACES", "Place"]


@dataclass(frozen=True)
class Place:
    """One backend.

    Attributes:
        name: its name.
        make: makes it.
        world: the class of environment that suits it.
        kills: a call that does not return can be ended there.
    """

    name: str
    make: Callable[[], Backend]
    world: Any
    kills: bool

    def factory(self, journal: Journal, **arguments: Any) -> Factory:
        """A factory of worlds for this backend."""
        return Factory(journal, self.world, **arguments)


PLACES = [
    Place("inline", InlineBackend, AwaitingWorld, kills=True),
    Place("thread", ThreadBackend, BlockingWorld, kills=False),
]
