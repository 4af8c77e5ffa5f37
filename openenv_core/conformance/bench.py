"""The target, served and at hand: what the checks play with."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx

from openenv_core.client._base import is_loopback, websocket_url
from openenv_core.client.batch import BatchClient
from openenv_core.client.sync import EnvClient
from openenv_core.conformance.actions import ActionSource
from openenv_core.conformance.play import RawClient, RawObservation, RawState, attempt, record
from openenv_core.conformance.records import Trajectory
from openenv_core.conformance.serving import serving
from openenv_core.conformance.subject import Options, Subject
from openenv_core.environment import EnvironmentTraits
from openenv_core.errors import (
    CapacityReachedError,
    ConcurrencyConfigurationError,
    ConnectionFailedError,
    EnvironmentFactoryError,
    OpenEnvError,
    ProtocolError,
)
from openenv_core.server.app import create_app_from_spec
from openenv_core.settings import ServerSettings

__all__ = ["SESSIONS", "Bench", "attempt_json"]

SESSIONS = 8
"""Sessions that are played side by side."""

_WAIT_FOR_A_SECOND_S = 1.0
_PAGE_LIMIT_S = 30.0
_ANSWER_ON_ITS_WAY_S = 5.0


class Bench:
    """A target while it is checked. Use it in a ``with`` block.

    Args:
        subject: the target.
        options: how much of it is played.

    Attributes:
        base_url: the address of its server.
    """

    def __init__(self, subject: Subject, options: Options) -> None:
        self.subject = subject
        self.options = options
        self.base_url = ""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start what has to be started, and open a session to see whether one can be had.

        Raises:
            OpenEnvError: the target cannot be checked.
        """
        with self._stack:
            self.base_url = self.subject.url or self._stack.enter_context(serving(self._application()))
            self._look_in()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _application(self) -> Any:
        spec = self.subject.spec
        if spec is None:
            return self.subject.application
        settings = ServerSettings(max_sessions=SESSIONS, step_deadline_s=self.options.timeout_s)
        try:
            return create_app_from_spec(spec, settings)
        except ConcurrencyConfigurationError:
            return create_app_from_spec(spec, dataclasses.replace(settings, max_sessions=1))

    def _look_in(self) -> None:
        with self.client() as client:
            if client.session_id == "":
                # Version 1 says only at the first request whether it can serve a session at all.
                _, error = attempt(client.reset)
                if isinstance(error, ConnectionFailedError | EnvironmentFactoryError):
                    raise error
        missing = [name for name in ("action", "observation", "state") if name not in self.schemas]
        if missing:
            raise ProtocolError(f"{self.base_url}/schema has no {' and no '.join(missing)}: not an OpenEnv server?")

    @property
    def traits(self) -> EnvironmentTraits | None:
        """What the class says of itself, where it is known."""
        return self.subject.traits

    def client(self, base_url: str | None = None, **arguments: Any) -> RawClient:
        """A client for one session, of this server or of another one."""
        return RawClient(base_url or self.base_url, **{**self._arguments, **arguments})

    def typed_client(self) -> EnvClient[Any, Any, Any]:
        """A client with the environment's own models."""
        spec = self.subject.spec
        assert spec is not None, "only a known environment has models"
        names = ("action_type", "observation_type", "state_type")
        kind = type("TypedClient", (EnvClient,), {name: getattr(spec, name) for name in names})
        client: EnvClient[Any, Any, Any] = kind(self.base_url, **self._arguments)
        return client

    def batch(self, sessions: int) -> BatchClient[dict[str, Any], RawObservation, RawState]:
        """Clients for many sessions."""
        return BatchClient(self.base_url, sessions, types=RawClient, **self._arguments)

    @property
    def _arguments(self) -> dict[str, Any]:
        return {
            "message_timeout_s": self.options.timeout_s + _ANSWER_ON_ITS_WAY_S,
            "wait_for_capacity_s": self.options.wait_s,
            "token": self.options.token,
        }

    @cached_property
    def room(self) -> int:
        """How many sessions there is room for, ``SESSIONS`` at most. Version 1 does not tell: there two are tried."""
        with self.client() as client:
            if client.hello is not None:
                return min(SESSIONS, client.hello.capacity.max)
            attempt(client.reset)
            with self.client(wait_for_capacity_s=_WAIT_FOR_A_SECOND_S) as second:
                _, error = attempt(second.reset)
        return 1 if isinstance(error, CapacityReachedError) else 2

    def fetch(self, path: str) -> httpx.Response:
        """A page of the server.

        Raises:
            ConnectionFailedError: no answer came.
        """
        url = self._address(path)
        headers = {"Authorization": f"Bearer {self.options.token}"} if self.options.token else {}
        try:
            return self._http.get(url, headers=headers)
        except httpx.HTTPError as error:
            raise ConnectionFailedError(f"GET {url} failed: {str(error) or type(error).__name__}") from error

    @cached_property
    def _http(self) -> httpx.Client:
        # One for all pages: each would read the certificates of all authorities anew.
        client = httpx.Client(trust_env=not is_loopback(self._address("")), timeout=_PAGE_LIMIT_S)
        return self._stack.enter_context(client)

    def _address(self, path: str) -> str:
        """The HTTP address of a page, however the server's address was written."""
        parts = urlsplit(websocket_url(self.base_url))
        folder = parts.path.removesuffix("/ws")
        return urlunsplit((parts.scheme.replace("ws", "http", 1), parts.netloc, folder + path, "", ""))

    @cached_property
    def schemas(self) -> Mapping[str, Any]:
        """The JSON schemas that the server advertises.

        Raises:
            ProtocolError: it advertises none.
        """
        response = self.fetch("/schema")
        found = attempt_json(response)
        if response.status_code != 200 or not isinstance(found, dict):
            raise ProtocolError(f"GET /schema answered {response.status_code}: not an OpenEnv server?")
        return found

    @cached_property
    def actions(self) -> ActionSource:
        """Where actions come from."""
        return ActionSource(self.schemas["action"], self.subject.spec)

    @property
    def episodes(self) -> list[Trajectory]:
        """The episodes that the checks start from: one for each seed, each alone in a session of its own.

        Raises:
            OpenEnvError: they cannot be played; it is tried once only.
        """
        if isinstance(self._recorded, OpenEnvError):
            raise self._recorded
        return self._recorded

    @cached_property
    def _recorded(self) -> list[Trajectory] | OpenEnvError:
        episodes, error = attempt(lambda: list(self._record()))
        return error or episodes

    def _record(self) -> Iterator[Trajectory]:
        for number in range(self.options.episodes):
            with self.client() as client:
                yield record(
                    client,
                    self.actions,
                    seed=self.options.seed + number,
                    episode_id=f"check-{number}",
                    steps=self.options.steps,
                )


def attempt_json(response: httpx.Response) -> Any:
    """The JSON of an answer; ``None`` where there is none."""
    try:
        return response.json()
    except ValueError:
        return None
