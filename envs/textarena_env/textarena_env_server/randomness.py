"""Where games draw from: the generator of the session whose call is running, never the process-wide ones."""

import random
import threading
import time
import types
from collections.abc import Callable
from typing import Any, Final

from openenv_core.errors import EnvironmentFailedError

__all__ = ["CPU_LIMIT_S", "Source", "numpy_module", "random_module"]

CPU_LIMIT_S: Final = 30.0
"""One call of a game may use so much processor time. The slowest honest game, Rush Hour, needs half a second."""

_CHECK_EVERY: Final = 64
_bound = threading.local()


class Source:
    """The randomness of one episode. Games draw from it while they run inside ``with source:``.

    Args:
        seed: fixes everything that is drawn; ``None`` seeds from the operating system.
        cpu_limit_s: a call that has used more processor time than this, and still draws, is stopped.
    """

    __slots__ = ("_deadline", "_draws", "_limit_s", "_numpy", "_outer", "generator")

    def __init__(self, seed: int | None, *, cpu_limit_s: float = CPU_LIMIT_S) -> None:
        self.generator = random.Random(seed)
        self._numpy: Any = None
        self._limit_s = cpu_limit_s
        self._deadline = 0.0
        self._draws = 0
        self._outer: Source | None = None

    def __enter__(self) -> "Source":
        self._outer = getattr(_bound, "source", None)
        self._deadline = time.thread_time() + self._limit_s
        _bound.source = self
        return self

    def __exit__(self, *_: object) -> None:
        _bound.source = self._outer

    def numpy_generator(self) -> Any:
        """The legacy numpy generator of the episode."""
        if self._numpy is None:
            import numpy

            self._numpy = numpy.random.RandomState(self.generator.getrandbits(32))
        return self._numpy

    def count(self) -> None:
        """Count a draw, and stop a game that goes on for ever.

        A thread cannot be killed, so this is what ends an endless loop of a game that draws in it.

        Raises:
            EnvironmentFailedError: the call has used up its processor time.
        """
        self._draws += 1
        if self._draws % _CHECK_EVERY == 0 and time.thread_time() > self._deadline:
            raise EnvironmentFailedError(
                f"the game used more than {self._limit_s:g} s of processor time in one call and was stopped",
                limit_s=self._limit_s,
            )


def _source() -> Source:
    source: Source | None = getattr(_bound, "source", None)
    if source is None:
        raise RuntimeError("a game drew a random number outside of a session's call")
    source.count()
    return source


def _forwarder(name: str) -> Callable[..., Any]:
    def forward(*arguments: Any, **options: Any) -> Any:
        return getattr(_source().generator, name)(*arguments, **options)

    forward.__name__ = name
    return forward


def random_module() -> types.ModuleType:
    """A stand-in for the module ``random`` whose functions draw from the bound :class:`Source`."""
    module = types.ModuleType("random")
    for name in dir(random.Random):
        if not name.startswith("_") and callable(getattr(random.Random, name)):
            setattr(module, name, _forwarder(name))
    module.Random = random.Random  # type: ignore[attr-defined]
    module.SystemRandom = random.SystemRandom  # type: ignore[attr-defined]
    return module


class _NumpyRandom(types.ModuleType):
    """``numpy.random``: what is kept per process there is kept per episode here."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        if hasattr(numpy.random.RandomState, name):
            return lambda *arguments, **options: getattr(_source().numpy_generator(), name)(*arguments, **options)
        return getattr(numpy.random, name)


class _Numpy(types.ModuleType):
    """``numpy`` with the ``random`` of the episode."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        return getattr(numpy, name)


def numpy_module() -> types.ModuleType:
    """A stand-in for the module ``numpy``.

    Raises:
        ModuleNotFoundError: numpy is not installed.
    """
    import numpy

    module = _Numpy(numpy.__name__)
    module.random = _NumpyRandom("numpy.random")  # type: ignore[attr-defined]
    return module
