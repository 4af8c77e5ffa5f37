"""The one door behind all doors: a request of a session becomes a call on it, and its result a reply.

The WebSocket, HTTP and tool doors differ in how they read requests and write replies; what happens in between is here.
"""

import functools
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import TypeAdapter

from openenv_core.environment import class_of_factory, traits_of
from openenv_core.errors import EnvironmentFailedError, OpenEnvError, UnsupportedOperationError
from openenv_core.server.callers import Caller
from openenv_core.server.logs import Redactor, secrets_of
from openenv_core.sessions.manager import SessionManager
from openenv_core.sessions.session import Holder, Session
from openenv_core.settings import ServerSettings
from openenv_core.types import EnvironmentMetadata
from openenv_core.wire.codec import ServerCodec
from openenv_core.wire.frames import PROTOCOL_VERSION, Capacity, HelloData, Limits
from openenv_core.wire.openenv_v1 import RequestReader

if TYPE_CHECKING:
    from openenv_core.rendering import Showing

__all__ = ["Gateway", "ModelTypes", "Verb"]

ReplyT = TypeVar("ReplyT")
Verb = Literal["reset", "step", "state"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelTypes:
    """The models that an environment speaks. ``reset_observation``: what ``reset`` returns, where that differs."""

    action: Any
    observation: Any
    state: Any
    reset_observation: Any = None


class Gateway:
    """What every door of one server shares.

    Args:
        env_name: the environment's name, as routes and greetings tell it.
        factory: makes the environments; asked for its class only.
        types: the models.
        manager: the sessions.
        settings: the limits.

    Attributes:
        reader: reads version 1 requests.
        codec: reads version 2 frames.
        secrets: texts that must not leave this process.
        redact: takes them out of a text.
        on_opened: told of every session, and whether its client asks for a recording; ``None`` where nothing is
            recorded and nobody can watch. It may attach an observer to the session.
        showing: how people are shown observations; ``None`` where there is no page.
        closers: called at shutdown, after the sessions have ended.
    """

    def __init__(
        self,
        env_name: str,
        factory: Callable[[], Any],
        types: ModelTypes,
        manager: SessionManager,
        settings: ServerSettings,
    ) -> None:
        self.env_name = env_name
        self.types = types
        self.manager = manager
        self.settings = settings
        self.reader = RequestReader(types.action)
        self.codec = ServerCodec(types.action)
        self.showing: Showing | None = None
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.secrets = [settings.token, *secrets_of(os.environ)]
        self.redact = Redactor(self.secrets)
        self.on_opened: Callable[[Session, bool], None] | None = None
        self._class = class_of_factory(factory)
        options = None if self._class is None else traits_of(self._class).reset_options
        self._reset_options = None if options is None or options.takes_any else options.known
        self._schema: dict[str, Any] | None = None
        self._metadata: EnvironmentMetadata | None = None

    async def open(
        self,
        caller: Caller,
        *,
        door: str,
        holder: Holder,
        wait_s: float = 0.0,
        resumable: bool = False,
        idle_timeout_s: float | None = None,
        on_queued: Callable[[int], None] | None = None,
    ) -> Session:
        """Open a session for a caller. Arguments and errors are those of
        :meth:`~openenv_core.sessions.manager.SessionManager.open`."""
        session = await self.manager.open(
            caller=caller.address,
            credential=caller.credential,
            door=door,
            holder=holder,
            wait_s=wait_s,
            resumable=resumable,
            idle_timeout_s=idle_timeout_s,
            on_queued=on_queued,
        )
        if self.on_opened is not None:
            self.on_opened(session, caller.record)
        return session

    def call(
        self,
        session: Session,
        verb: Verb,
        data: Any,
        reply: Callable[[Any], ReplyT],
        timeout_s: float | None = None,
    ) -> ReplyT | Awaitable[ReplyT]:
        """Run one call. Returns the reply if it is there at once, otherwise something to await.

        Args:
            data: the typed action of a step; the options of a reset; nothing of a state.
            reply: turns the result into the door's reply: an ``Outcome`` of a step or a reset, or the state.

        Raises:
            OpenEnvError: any that :class:`~openenv_core.sessions.session.Session` raises.
        """
        if session.observer is not None:
            return session.observer.follow(session, verb, data, reply, _bound(session, verb, data, timeout_s))
        if verb == "step":
            return session.step(data, reply, timeout_s)
        if verb == "reset":
            return session.reset(data, reply, timeout_s)
        return session.state(reply, timeout_s)

    def typed_error(self, error: Exception) -> OpenEnvError:
        """The error to send for whatever was raised; what is not one of ours is logged, and named by an id only.

        No secret of this process leaves it in a message, whatever an environment put into the text of an exception.
        """
        if isinstance(error, OpenEnvError):
            error.message = self.redact(error.message)
            self.manager.measures.errors[error.code] += 1
            return error
        self.manager.measures.errors[EnvironmentFailedError.code] += 1
        error_id = secrets.token_hex(4)
        _log.error("unexpected error %s", error_id, exc_info=error, extra={"error_id": error_id})
        return EnvironmentFailedError("the server failed on this request; its log knows why", error_id=error_id)

    async def shut_down(self) -> None:
        """Drain the sessions, then close what the doors have open beside them. May be called more than once."""
        await self.manager.drain(self.settings.drain_grace_s)
        closers, self.closers = self.closers, []
        for close in closers:
            await close()

    def warn_if_large(self, reply: bytes, what: str) -> None:
        """Leave a line in the log for an unusually large reply: nobody else sees what fills the wire."""
        if len(reply) > self.settings.warn_message_bytes:
            _log.warning("%s: a %s of %d bytes was sent", self.env_name, what, len(reply))

    def hello(self, server: str) -> HelloData:
        """The greeting of protocol version 2."""
        settings, admission = self.settings, self.manager.admission
        return HelloData(
            protocol=PROTOCOL_VERSION,
            server=server,
            env_name=self.env_name,
            limits=Limits(
                max_message_bytes=settings.max_message_bytes,
                step_deadline_s=settings.step_deadline_s,
                idle_timeout_s=settings.idle_timeout_s,
                resume_grace_s=settings.resume_grace_s,
            ),
            capacity=Capacity(active=admission.active, max=admission.max_sessions, queued=admission.queued),
            reset_options=self._reset_options,
        )

    def schema(self) -> Mapping[str, Any]:
        """JSON schemas of action, observation, state and the observation of a reset."""
        if self._schema is None:
            types = self.types
            self._schema = {
                "action": TypeAdapter(types.action).json_schema(),
                "observation": TypeAdapter(types.observation).json_schema(mode="serialization"),
                "state": TypeAdapter(types.state).json_schema(mode="serialization"),
                "reset_observation": TypeAdapter(types.reset_observation or types.observation).json_schema(
                    mode="serialization"
                ),
            }
        return self._schema

    async def metadata(self) -> EnvironmentMetadata:
        """What the environment tells of itself: its ``get_metadata``, or its class's name and docstring."""
        if self._metadata is None:
            cls = self._class
            if cls is None or "get_metadata" in traits_of(cls).methods:
                self._metadata = await self._own_metadata()
            else:
                self._metadata = _metadata_of(cls)
        return self._metadata

    async def _own_metadata(self) -> EnvironmentMetadata:
        try:
            told = await self.manager.catalog("get_metadata")
        except UnsupportedOperationError:
            return EnvironmentMetadata(name=self.env_name, description=f"{self.env_name} environment", version="1.0.0")
        return EnvironmentMetadata.model_validate(told, from_attributes=True)


def _bound(session: Session, verb: Verb, data: Any, timeout_s: float | None) -> Callable[..., Any]:
    """The call that :meth:`Gateway.call` makes, but for its reply."""
    if verb == "state":
        return functools.partial(session.state, timeout_s=timeout_s)
    return functools.partial(session.step if verb == "step" else session.reset, data, timeout_s=timeout_s)


def _metadata_of(cls: type[Any]) -> EnvironmentMetadata:
    first_line = (cls.__doc__ or "").strip().partition("\n")[0]
    return EnvironmentMetadata(
        name=cls.__name__, description=first_line or f"{cls.__name__} environment", version="1.0.0"
    )
