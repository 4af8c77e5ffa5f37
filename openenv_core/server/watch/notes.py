"""Notes of calls: what a session's client asked and was answered, as JSON, made while the answer is at hand."""

import inspect
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic_core import to_json

from openenv_core.errors import EnvironmentFailedError, OpenEnvError, jsonable
from openenv_core.recording import Note
from openenv_core.types import PictureFiles
from openenv_core.wire.values import model_json, value_json

__all__ = ["follow"]

ReplyT = TypeVar("ReplyT")

_log = logging.getLogger(__name__)


class _Call:
    """One call that is looked at."""

    __slots__ = ("_asked", "_number", "_reply", "_started", "_take", "_verb")

    def __init__(
        self, verb: str, data: Any, reply: Callable[[Any], Any], take: Callable[[Note], None], number: int
    ) -> None:
        self._verb = verb
        self._reply = reply
        self._take = take
        self._number = number
        self._asked = _asked(data)  # now: an environment may change what it is given
        self._started = time.perf_counter()

    def answered(self, result: Any) -> Any:
        """The client's reply, which is made first: only what it is sent is noted."""
        answer = self._reply(result)
        self._tell(lambda: self._note(result))
        return answer

    def failed(self, error: Exception) -> None:
        """The client is told an error."""
        self._tell(lambda: self._error(error))

    def _tell(self, make: Callable[[], Note]) -> None:
        try:
            self._take(make())
        except Exception:  # noqa: BLE001 - as the next line says
            # A call must not fail, whoever looks at it.
            _log.exception("a %s could not be noted for those who look on", self._verb)

    def _error(self, error: Exception) -> Note:
        told = error if isinstance(error, OpenEnvError) else EnvironmentFailedError("the server failed on this request")
        message = to_json(jsonable(told.message))
        spent = time.perf_counter() - self._started
        return Note("error", time.time(), spent, self._verb, self._asked, message, code=told.code)

    async def awaited(self, answer: Awaitable[ReplyT]) -> ReplyT:
        try:
            return await answer
        except Exception as error:
            self.failed(error)
            raise

    def _note(self, result: Any) -> Note:
        spent = time.perf_counter() - self._started
        verb = self._verb
        pictures = PictureFiles(f"{self._number:06d}")
        if verb == "state":
            state = model_json(result, context=pictures)
            return Note(verb, time.time(), spent, verb, b"", state, pictures=pictures.files or None)
        observation, truncated = result
        answer = model_json(observation, context=pictures)
        return Note(
            *(verb, time.time(), spent, verb, self._asked, answer),
            reward=observation.reward,
            done=bool(observation.done),
            truncated=truncated,
            success=getattr(observation, "success", None),
            pictures=pictures.files or None,
        )


def follow(
    verb: str,
    data: Any,
    reply: Callable[[Any], ReplyT],
    run: Callable[[Callable[[Any], ReplyT]], ReplyT | Awaitable[ReplyT]],
    take: Callable[[Note], None],
    number: int,
) -> ReplyT | Awaitable[ReplyT]:
    """Run a call and make a note of what its client is answered. Whatever becomes of the note, the answer is the same.

    Args:
        take: is given the note.
        number: what the names of its pictures begin with.
    """
    call = _Call(verb, data, reply, take, number)
    try:
        answer = run(call.answered)
    except Exception as error:
        call.failed(error)
        raise
    if type(answer) is bytes or not inspect.isawaitable(answer):
        return answer
    return call.awaited(answer)


def _asked(data: Any) -> bytes:
    if data is None:
        return b""
    try:
        return value_json(data, "the options") if isinstance(data, dict) else model_json(data)
    except OpenEnvError:
        return to_json(repr(data))
