"""How things travel between a server and its worker processes: as pickles. Both ends are one installation and trust
each other; nothing of a client's is ever unpickled that was not packed here."""

import builtins
import contextlib
import importlib
import importlib.util
import pickle
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from openenv_core.errors import ConfigurationError, InvalidObservationError, OpenEnvError

__all__ = [
    "EXIT_OUT_OF_MEMORY",
    "READY",
    "RaisedInWorkerError",
    "Setup",
    "pack_answer",
    "pack_factory",
    "pack_failure",
    "packer",
    "unpack_answer",
]

Pack = Callable[[Any], bytes]

_VALUE, _FAILURE = b"v", b"f"

EXIT_OUT_OF_MEMORY = 77
"""Exit code of a worker whose memory is used up: what it holds cannot be relied on any more."""

READY = 0
"""Number of the first message each way: the setup, and the answer when it is done."""


class Setup(NamedTuple):
    """What a worker is told first.

    Attributes:
        path: ``sys.path`` of the server.
        factory: packed, to be imported now rather than by the first session; or nothing.
        by_value: what is sent back is packed by value.
        memory_bytes, cpu_s: limits of the process; 0 for none.
    """

    path: list[str]
    factory: bytes
    by_value: bool
    memory_bytes: int
    cpu_s: int


class RaisedInWorkerError(Exception):
    """What an environment raised, by its text: a class of its own need not exist in the server's process."""


class _Failure(NamedTuple):
    """``error`` itself where it can travel."""

    error: Exception | None
    text: str
    trace: str


def packer(*, by_value: bool) -> Pack:
    """The function that packs. ``by_value``: classes that no module holds travel whole, by cloudpickle."""
    if not by_value:
        return lambda value: pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pack: Pack = importlib.import_module("cloudpickle").dumps
    return pack


def pack_factory(factory: Callable[[], Any]) -> tuple[bytes, bool]:
    """A factory as bytes, and whether what belongs to it must be packed by value.

    Raises:
        ConfigurationError: it cannot travel.
    """
    try:
        packed = pickle.dumps(factory, pickle.HIGHEST_PROTOCOL)
        # The script that was started is another module in every process.
        trouble = "it belongs to the script that was started" if b"__main__" in packed else ""
    except Exception as error:  # noqa: BLE001 - whatever it is that an object's pickling raises
        packed, trouble = b"", str(error)
    if not trouble:
        return packed, False
    if importlib.util.find_spec("cloudpickle") is not None:
        return packer(by_value=True)(factory), True
    name = getattr(factory, "__qualname__", type(factory).__qualname__)
    raise ConfigurationError(
        f"{name} cannot be sent to worker processes ({trouble}): define it in a module that they can import, or "
        "install cloudpickle"
    )


def pack_answer(value: Any, pack: Pack) -> bytes:
    """What a call returned, as bytes.

    Raises:
        InvalidObservationError: it cannot travel.
    """
    try:
        return _VALUE + pack(value)
    except MemoryError:
        raise
    except Exception as error:
        raise InvalidObservationError(
            f"the call has run, but what it returned cannot leave the worker process: {error}"
        ) from error


def pack_failure(error: BaseException, pack: Pack) -> bytes:
    """What was raised, as bytes; always possible."""
    trace = "".join(traceback.format_exception(error))
    text = str(error) or type(error).__name__
    if not isinstance(error, Exception):
        # SystemExit in an environment ends neither the worker nor the server.
        text = f"{type(error).__name__}: {error}"
    elif isinstance(error, OpenEnvError) or vars(builtins).get(type(error).__name__) is type(error):
        # Its details may hold anything; if they cannot travel, its text must do.
        with contextlib.suppress(Exception):
            return _FAILURE + pack(_Failure(error, text, trace))
    return _FAILURE + pack(_Failure(None, text, trace))


def unpack_answer(packed: bytes) -> Any:
    """What a call returned.

    Raises:
        Exception: what it raised; its note holds the worker's traceback, for the log.
    """
    content = pickle.loads(memoryview(packed)[1:])
    if packed.startswith(_VALUE):
        return content
    failure: _Failure = content
    error = failure.error or RaisedInWorkerError(failure.text)
    error.add_note(f"In the worker process:\n{failure.trace}")
    raise error
