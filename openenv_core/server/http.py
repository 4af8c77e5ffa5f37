"""Plain HTTP: what the server is, and ``/reset``, ``/step``, ``/state`` as a session.

``/reset`` opens a session and names it in a header, a cookie and the body. A later call continues it by any of them
(``/state``, which has no body, by ``?session_id=``); without, when exactly one HTTP session belongs to its caller. A
``/reset`` without a name first retires those of the caller's sessions whose episode is over, so that a script that
plays one episode after the other needs neither. HTTP sessions count against the capacity like any other, and are reaped
when idle.
"""

import math
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from openenv_core.errors import (
    LossReason,
    OpenEnvError,
    ProtocolError,
    UnauthorizedError,
    ValidationFailedError,
    jsonable,
)
from openenv_core.server.callers import caller_of
from openenv_core.server.gateway import Gateway, Verb
from openenv_core.sessions.episode import Phase
from openenv_core.sessions.session import Outcome, Session
from openenv_core.types import EnvironmentMetadata
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.values import LEGACY, model_json

__all__ = ["ERRORS", "SESSION_COOKIE", "SESSION_HEADER", "HttpDoor", "error_response"]

SESSION_HEADER = "X-OpenEnv-Session"
SESSION_COOKIE = "openenv_session"


class ResetRequest(BaseModel):
    """Body of ``/reset``: any option of the environment's reset."""

    model_config = ConfigDict(extra="allow")

    seed: Annotated[int | None, Field(ge=0)] = None
    episode_id: Annotated[str | None, Field(max_length=255)] = None
    session_id: Annotated[str | None, Field(max_length=255)] = None


class StepRequest(BaseModel):
    """Body of ``/step``."""

    model_config = ConfigDict(extra="allow")

    action: dict[str, Any]
    timeout_s: Annotated[float | None, Field(gt=0)] = None
    request_id: Annotated[str | None, Field(max_length=255)] = None
    session_id: Annotated[str | None, Field(max_length=255)] = None


class ErrorBody(BaseModel):
    """An error. ``code`` names its kind, ``details`` its facts; what is refused for its form alone has neither."""

    detail: Any
    code: str | None = None
    message: str | None = None
    details: dict[str, Any] | None = None


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": why}
    for status, why in {
        400: "The body is not JSON, or an index is none.",
        401: "The token is missing or wrong.",
        403: "A web page of another server.",
        404: "There is no such environment.",
        408: "The body did not arrive in time.",
        409: "No session, no episode, or one that is over.",
        410: "The session is gone; the details say why.",
        413: "The body is too large.",
        415: "The body does not say that it is JSON.",
        421: "The server does not answer to this name.",
        422: "Something does not fit its schema.",
        431: "The head is too large.",
        500: "The environment failed; the server's log has the entry that the details name.",
        501: "The environment does not offer this.",
        503: "No slot is free, or the server is shutting down.",
    }.items()
}
"""What any route may answer beside what it is for."""


def error_response(error: OpenEnvError) -> JSONResponse:
    """An error as HTTP: ``detail`` as FastAPI's clients know it, ``code`` and ``details`` beside it."""
    message = error.public_message
    detail = error.details.get("errors", message) if isinstance(error, ValidationFailedError) else message
    body = {"detail": detail, "code": error.code, "message": message, "details": error.details}
    headers = {"Retry-After": str(math.ceil(error.details.get("retry_after_s", 1)))} if error.retryable else None
    return JSONResponse(jsonable(body), status_code=error.http_status, headers=headers)


class HttpDoor:
    """The routes and the HTTP sessions of one server.

    Args:
        control: whether ``/reset``, ``/step`` and ``/state`` exist; in the production mode they do not.
    """

    def __init__(self, gateway: Gateway, *, control: bool) -> None:
        self._gateway = gateway
        self._sessions: dict[str, Session] = {}
        self.router = APIRouter()
        add = self.router.add_api_route
        add("/health", self.health, methods=["GET"], tags=["Health"])
        add("/metadata", self.metadata, methods=["GET"], tags=["Environment Info"], response_model=EnvironmentMetadata)
        add("/schema", self.schema, methods=["GET"], tags=["Schema"])
        if control:
            add("/reset", self.reset, methods=["POST"], tags=["Environment Control"])
            add("/step", self.step, methods=["POST"], tags=["Environment Control"])
            add("/state", self.state, methods=["GET"], tags=["State Management"])

    async def health(self) -> Response:
        """Whether the server takes sessions: 200 ``healthy``, or 503 ``starting``, ``draining``, ``unhealthy``."""
        manager = self._gateway.manager
        status = "draining" if manager.draining else manager.builder.status
        return JSONResponse({"status": status}, status_code=200 if status == "healthy" else 503)

    async def metadata(self) -> EnvironmentMetadata:
        """What the environment tells of itself."""
        return await self._gateway.metadata()

    async def schema(self) -> JSONResponse:
        """JSON schemas of action, observation, state and the observation of a reset."""
        return JSONResponse(self._gateway.schema())

    async def reset(self, request: Request, body: Annotated[ResetRequest | None, Body()] = None) -> Response:
        """Start an episode, in the session that the request names or in a new one."""
        options = body.model_dump(exclude_unset=True) if body is not None else {}
        named = _named(request, options.pop("session_id", None))
        session = self._find(named, request) if named else None
        if session is not None:
            return await self._respond(session, "reset", options)
        # Only a reset may go on without the session that it names.
        await self._retire(request)
        session = await self._open(request)
        try:
            return await self._respond(session, "reset", options)
        except BaseException:
            # Its caller was never told its name.
            self._gateway.manager.close_soon(session, LossReason.CLOSED)
            raise

    async def step(self, request: Request, body: StepRequest) -> Response:
        """Do one action in the session that the request names, or in the only one that its caller has."""
        session = self._session(request, body.session_id)
        try:
            action = self._gateway.reader.action(body.action)
        except ValidationFailedError as error:
            return error_response(error)
        return await self._respond(session, "step", action, body.timeout_s)

    async def state(self, request: Request) -> Response:
        """The state of the session that the request names, or of the only one that its caller has."""
        return await self._respond(self._session(request, request.query_params.get("session_id")), "state", None)

    def session_closed(self, session: Session, reason: LossReason) -> None:
        """A session ended by itself."""
        self._sessions.pop(session.id, None)

    def _find(self, session_id: str, request: Request) -> Session | None:
        """The named session; ``None`` for one that is gone.

        Raises:
            UnauthorizedError: it was opened with other credentials.
        """
        session = self._sessions.get(session_id)
        if session is not None and session.credential != caller_of(request.scope).credential:
            raise UnauthorizedError("that session was opened with other credentials")
        return session

    def _session(self, request: Request, session_id: str | None) -> Session:
        named = _named(request, session_id)
        if named:
            session = self._find(named, request) or self._gateway.manager.find(named)
            if session.id not in self._sessions:
                raise ProtocolError("that session does not belong to plain HTTP; use the connection that opened it")
            return session
        own = self._of_caller(request)
        if len(own) == 1:
            return own[0]
        if own:
            raise _Ambiguous(
                f"{len(own)} HTTP sessions belong to this caller: send the header {SESSION_HEADER} (or the cookie "
                f"{SESSION_COOKIE}) that /reset answered with, to say which one is meant"
            )
        raise _Ambiguous(
            "no HTTP session belongs to this caller: call POST /reset first, and send back the header "
            f"{SESSION_HEADER} or the cookie {SESSION_COOKIE} of its answer"
        )

    def _of_caller(self, request: Request) -> list[Session]:
        caller = caller_of(request.scope)
        return [
            session
            for session in self._sessions.values()
            if (session.ticket.caller, session.credential) == (caller.address, caller.credential)
        ]

    async def _retire(self, request: Request) -> None:
        for session in self._of_caller(request):
            if session.episode.phase is Phase.OVER:
                await self._gateway.manager.close(session, LossReason.CLOSED)

    async def _open(self, request: Request) -> Session:
        session = await self._gateway.open(
            caller_of(request.scope),
            door="http",
            holder=self,
            idle_timeout_s=self._gateway.settings.http_idle_timeout_s,
        )
        self._sessions[session.id] = session
        return session

    async def _respond(self, session: Session, verb: Verb, data: Any, timeout_s: float | None = None) -> Response:
        def write(result: Any) -> bytes:
            return model_json(result, context=LEGACY) if verb == "state" else _observation_body(result, session)

        reply = self._gateway.call(session, verb, data, write, timeout_s)
        body = reply if isinstance(reply, bytes) else await reply
        self._gateway.warn_if_large(body, verb)
        response = Response(body, media_type="application/json", headers={SESSION_HEADER: session.id})
        if verb == "reset":
            response.set_cookie(SESSION_COOKIE, session.id, httponly=True, samesite="strict")
        return response


def _named(request: Request, session_id: str | None) -> str | None:
    return request.headers.get(SESSION_HEADER) or session_id or request.cookies.get(SESSION_COOKIE)


class _Ambiguous(ProtocolError):
    http_status = 409


def _observation_body(outcome: Outcome, session: Session) -> bytes:
    data = v1.observation_data(outcome.observation, truncated=outcome.truncated)
    # Over HTTP the public protocol has the key always, over WebSocket only where there is something in it.
    metadata = b"" if getattr(outcome.observation, "metadata", None) else b',"metadata":null'
    return b'%b%b,"session_id":%b}' % (data[:-1], metadata, to_json(session.id))
