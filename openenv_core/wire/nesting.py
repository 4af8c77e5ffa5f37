"""How deep JSON is nested, found without building it."""

from itertools import accumulate

from openenv_core.errors import InvalidJsonError

__all__ = ["MAX_NESTING", "check_nesting", "is_deeper"]

MAX_NESTING = 200
"""So deep pydantic's JSON parser goes; a level or two later it gives up by itself, in every message that it reads."""

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = tuple(1 if byte in b"[{" else -1 for byte in range(256))


def is_deeper(text: bytes, limit: int) -> bool:
    """Whether a JSON text has more than ``limit`` brackets inside each other, those in strings aside.

    Text that is not JSON is answered one way or the other; its parser refuses it.
    """
    # Few brackets are no deep nest: nearly every message is done here.
    if len(text) <= 2 * limit or text.count(b"[") + text.count(b"{") <= limit:
        return False
    outside = b"".join(text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    brackets = outside.translate(None, _NOT_BRACKETS)
    # No loop of Python's own: there may be millions of them.
    return any(map(limit.__lt__, accumulate(map(_STEPS.__getitem__, brackets))))


def check_nesting(text: str | bytes, limit: int) -> None:
    """Refuse JSON that is nested deeper than is honest.

    Raises:
        InvalidJsonError: deeper than ``limit`` levels.
    """
    if len(text) <= 2 * limit:
        return
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if is_deeper(data, limit):
        raise InvalidJsonError(f"Invalid JSON: nested more than {limit} levels deep", limit=limit)
