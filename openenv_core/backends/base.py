"""The verbs that every backend has."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from openenv_core.environment import EnvironmentTraits

__all__ = ["Backend", "EnvironmentCrashedError", "EnvironmentHandle"]


class EnvironmentCrashedError(Exception):
    """The place where the environment ran is gone, and the environment with it. The text says what is known of it."""


class EnvironmentHandle(ABC):
    """One environment object, wherever it lives. Calls on it are made one at a time, by its session alone.

    Attributes:
        traits: what the framework knows of the environment's class.
    """

    traits: EnvironmentTraits

    def immediate(self, verb: str) -> Callable[..., Any] | None:
        """The method itself, where it can be called right here: a plain function that never blocks. Else ``None``."""
        return None

    def when_crashed(self, tell: Callable[[EnvironmentCrashedError], None]) -> None:  # noqa: B027
        """Have ``tell`` called should the place be gone, also between calls. Most places end with the server only."""

    @abstractmethod
    async def call(self, verb: str, /, *args: Any, **kwargs: Any) -> Any:
        """Run a method, or read an attribute, where the environment lives.

        Raises:
            EnvironmentCrashedError: that place is gone.
            Exception: whatever the method raised.
        """

    @abstractmethod
    async def close(self) -> None:
        """Call the environment's ``close`` once, where it lives, and give the place back. Never raises."""

    @abstractmethod
    def abandon(self) -> None:
        """Give up on a call that does not return: kill it where that can be done, otherwise let go of it."""


class Backend(ABC):
    """Makes environment objects.

    Attributes:
        name: the word for it in listings and settings.
        isolates: an environment that is not concurrency-safe may run here many times over.
    """

    name: ClassVar[str]
    isolates: ClassVar[bool] = False

    @abstractmethod
    async def open(self, factory: Callable[[], Any]) -> EnvironmentHandle:
        """Build one environment.

        Raises:
            EnvironmentCrashedError: the place died while building.
            Exception: whatever the factory raised.
        """

    async def start(self) -> None:  # noqa: B027 - most backends have nothing to get ready
        """Get ready, before the first ``open``: start what would otherwise cost the first session time."""

    async def stop(self) -> None:  # noqa: B027 - nor anything to give back
        """Give back what belongs to no session."""
