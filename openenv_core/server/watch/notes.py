"""Notes of calls: what a session's client asked and was answered, as JSON, made while the answer is at hand."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter, time
from typing import Any, Final, TypeVar

from pydantic_core import to_json

from openenv_core.errors import EnvironmentFailedError, OpenEnvError, jsonable
from openenv_core.recording import Note
from openenv_core.types import PictureFiles
from openenv_core.wire.codec import observation_in
from openenv_core.wire.values import model_json, value_json

__all__ = ["follow"]

ReplyT = TypeVar("ReplyT")

_log = logging.getLogger(__name__)

_UNNOTED: Final = "a %s could not be noted for those who look on"
_PNG: Final = b'"iVBORw0KGgo'
"""What a picture in a reply begins with."""


def follow(
    verb: str,
    data: Any,
    reply: Callable[[Any], ReplyT],
    run: Callable[[Callable[[Any], ReplyT]], ReplyT | Awaitable[ReplyT]],
    take: Callable[[Note], None],
    number: int,
    *,
    is_frame: bool = False,
) -> ReplyT | Awaitable[ReplyT]:
    """Run a call and make a note of what its client is answered. Whatever becomes of the note, the answer is the same.

    Args:
        take: is given the note.
        number: what the names of its pictures begin with.
        is_frame: a reply to a reset or a step is what ``encode_observation`` of version 2 makes.
    """
    asked = _asked(data)  # now: an environment may change what it is given
    started = perf_counter()

    def answered(result: Any) -> ReplyT:
        answer = reply(result)  # first: only what the client is sent is noted
        spent = perf_counter() - started
        try:
            if verb == "state":
                take(_state(result, spent, number))
            else:
                take(_seen(verb, spent, asked, result, answer if is_frame else None, number))
        except Exception:  # noqa: BLE001 - a call must not fail, whoever looks at it
            _log.exception(_UNNOTED, verb)
        return answer

    def failed(error: Exception) -> None:
        try:
            take(_error(verb, perf_counter() - started, asked, error))
        except Exception:  # noqa: BLE001 - as above
            _log.exception(_UNNOTED, verb)

    try:
        answer = run(answered)
    except Exception as error:
        failed(error)
        raise
    if type(answer) is bytes or not inspect.isawaitable(answer):
        return answer
    return _awaited(answer, failed)


async def _awaited(answer: Awaitable[ReplyT], failed: Callable[[Exception], None]) -> ReplyT:
    try:
        return await answer
    except Exception as error:
        failed(error)
        raise


def _seen(verb: str, spent: float, asked: bytes, result: Any, answer: Any, number: int) -> Note:
    observation, truncated = result
    pictures = None
    # What a client of version 2 is sent need not be made once more; pictures are wanted apart.
    seen = None if answer is None else observation_in(answer)
    if seen is None or _PNG in seen:
        seen, pictures = _written(observation, number)
    success = getattr(observation, "success", None)
    reward, done = observation.reward, bool(observation.done)
    return Note(verb, time(), spent, verb, asked, seen, reward, done, truncated, success, "", pictures)


def _state(state: Any, spent: float, number: int) -> Note:
    text, pictures = _written(state, number)
    return Note("state", time(), spent, "state", b"", text, pictures=pictures)


def _error(verb: str, spent: float, asked: bytes, error: Exception) -> Note:
    told = error if isinstance(error, OpenEnvError) else EnvironmentFailedError("the server failed on this request")
    return Note("error", time(), spent, verb, asked, to_json(jsonable(told.message)), code=told.code)


def _written(value: Any, number: int) -> tuple[bytes, dict[str, bytes] | None]:
    pictures = PictureFiles(f"{number:06d}")
    return model_json(value, context=pictures), pictures.files or None


def _asked(data: Any) -> bytes:
    if data is None:
        return b""
    try:
        return value_json(data, "the options") if type(data) is dict else model_json(data)
    except OpenEnvError:
        return to_json(repr(data))
