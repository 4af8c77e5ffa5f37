"""Typed clients of the journalling worlds, and a port that counts who knocks."""

import contextlib
import socket
from collections.abc import Iterator

from openenv_core.client import AsyncEnvClient, EnvClient
from tests.support.journal import Act, Seen, WorldState

__all__ = ["AsyncWorld", "World", "knocks"]


class World(EnvClient[Act, Seen, WorldState]):
    """The blocking client."""

    action_type, observation_type, state_type = Act, Seen, WorldState


class AsyncWorld(AsyncEnvClient[Act, Seen, WorldState]):
    """The awaiting client."""

    action_type, observation_type, state_type = Act, Seen, WorldState


class Door:
    """A port on which nobody answers.

    Attributes:
        port: its number.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]

    @property
    def base_url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def count(self) -> int:
        """How many have knocked since the last count."""
        found = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()
                found += 1
        return found


@contextlib.contextmanager
def knocks(port: int = 0) -> Iterator[Door]:
    """A port that counts connections."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(32)
        listener.setblocking(False)
        yield Door(listener)
