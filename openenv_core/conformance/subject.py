"""What is checked, and how much of it is played."""

from dataclasses import dataclass
from typing import Any

from openenv_core.environment import Environment, EnvironmentSpec, EnvironmentTraits, class_of_factory, traits_of
from openenv_core.errors import ConfigurationError
from openenv_core.targets import resolve

__all__ = ["Options", "Subject", "subject_of"]


@dataclass(frozen=True)
class Options:
    """How a target is checked.

    Attributes:
        seed: the first seed; the same seed plays the same episodes.
        episodes: number of seeds that are played.
        steps: an episode is played no longer than this.
        timeout_s: limit of one call, seconds.
        wait_s: how long to wait for a slot of a full server, seconds.
        token: bearer token of a running server.
    """

    seed: int = 0
    episodes: int = 3
    steps: int = 50
    timeout_s: float = 60.0
    wait_s: float = 10.0
    token: str | None = None

    def __post_init__(self) -> None:
        for name in ("episodes", "steps"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if self.seed < 0:
            raise ConfigurationError(f"seed is {self.seed}; it must be 0 or more")
        if not self.timeout_s > 0:
            raise ConfigurationError(f"timeout_s is {self.timeout_s}; it must be a positive number of seconds")


@dataclass(frozen=True)
class Subject:
    """A target, resolved. Exactly one of ``url``, ``spec`` and ``application`` is set.

    Attributes:
        name: what to call it.
        text: the target by which another process finds the same environment; ``None`` where there is no such text.
        url: the address of a running server, of which nothing else is known.
        spec: an environment whose class and models are at hand.
        application: a ready ASGI application.
    """

    name: str
    text: str | None = None
    url: str | None = None
    spec: EnvironmentSpec | None = None
    application: Any = None

    @property
    def traits(self) -> EnvironmentTraits | None:
        """What the class says of itself, where it is known."""
        cls = class_of_factory(self.spec.factory) if self.spec is not None else None
        return traits_of(cls) if cls is not None else None


def subject_of(target: Any) -> Subject:
    """What a target stands for.

    Raises:
        ConfigurationError: there is nothing of that name, or it is not an environment.
    """
    if isinstance(target, EnvironmentSpec):
        return Subject(target.name, spec=target)
    if isinstance(target, type) and issubclass(target, Environment):
        return Subject(target.__name__, spec=EnvironmentSpec(name=target.__name__, factory=target, client=""))
    if isinstance(target, str):
        found = resolve(target)
        text = target if found.url is None else None
        return Subject(target, text, url=found.url, spec=found.spec, application=found.application)
    raise ConfigurationError(
        f"{target!r} cannot be checked: give an Environment class, an EnvironmentSpec, the name of an installed "
        "environment, module:Class, or the URL of a server"
    )
