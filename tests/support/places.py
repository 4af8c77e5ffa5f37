"""The backends, each with the kind of environment that suits it: tests of sessions run on all of them."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from openenv_core.backends import Backend, EnvironmentHandle, InlineBackend, ThreadBackend
from tests.support.journal import AwaitingWorld, BlockingWorld, Factory, Journal

__all__ = ["PLACES", "OpenOne", "Place"]


@dataclass(frozen=True)
class Place:
    """One backend.

    Attributes:
        name: its name.
        make: makes it.
        world: the class of environment that suits it.
        closes: an environment whose call or construction is given up is closed there, sooner or later; where it is not,
            its process is ended.
        short_s: a limit that is long enough there for everything but waiting for a gate.
    """

    name: str
    make: Callable[[], Backend]
    world: Any
    closes: bool = True
    short_s: float = 0.1

    def factory(self, journal: Journal, **arguments: Any) -> Factory:
        """A factory of worlds for this backend."""
        return Factory(journal, self.world, **arguments)


OpenOne = Callable[..., Coroutine[Any, Any, EnvironmentHandle]]
"""Opens an environment; with arguments of the factory."""

PLACES = [
    Place("inline", InlineBackend, AwaitingWorld),
    Place("thread", ThreadBackend, BlockingWorld),
]
