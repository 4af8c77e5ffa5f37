"""Texts that match a regular expression of the plain kind that schemas use: no look-around, no back reference."""

import string
from collections.abc import Callable
from random import Random

from openenv_core.errors import UnsupportedOperationError

__all__ = ["matching_text"]

_Maker = Callable[[Random], str]

_MORE_OF_AN_OPEN_REPEAT = 8
_CLASSES = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": " "}
_PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


def matching_text(pattern: str, random: Random) -> str:
    """A text that matches the pattern from its first to its last character.

    Raises:
        UnsupportedOperationError: the pattern uses something that is not supported here.
    """
    reader = _Reader(pattern)
    make = reader.alternatives()
    if reader.rest:
        raise reader.unsupported()
    return make(random)


class _Reader:
    """Reads a pattern from left to right into functions that make a matching text."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    @property
    def rest(self) -> str:
        """What is not read yet."""
        return self._pattern[self._at :]

    def unsupported(self) -> UnsupportedOperationError:
        """The error that names the place."""
        return UnsupportedOperationError(f"no text can be made for the pattern {self._pattern!r} from {self.rest!r} on")

    def alternatives(self) -> _Maker:
        """``a|b|c``, up to a closing bracket or the end."""
        makers = [self._sequence()]
        while self._take("|"):
            makers.append(self._sequence())
        return lambda random: random.choice(makers)(random)

    def _sequence(self) -> _Maker:
        makers: list[_Maker] = []
        while self.rest and self.rest[0] not in "|)":
            makers.append(self._repeated(self._atom()))
        return lambda random: "".join(make(random) for make in makers)

    def _repeated(self, make: _Maker) -> _Maker:
        bounds = self._bounds()
        if bounds is None:
            return make
        low, high = bounds
        if not self._take("?"):
            self._take("+")
        return lambda random: "".join(make(random) for _ in range(random.randint(low, high)))

    def _bounds(self) -> tuple[int, int] | None:
        for sign, low, high in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self._take(sign):
                return low, high if high is not None else low + _MORE_OF_AN_OPEN_REPEAT
        body, closed, _ = self.rest[1:].partition("}")
        if not self.rest.startswith("{") or not closed:
            return None
        least, comma, most = body.partition(",")
        if not least.isdigit() or not (most.isdigit() or not most):
            raise self.unsupported()
        self._at += len(body) + 2
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else int(least) + _MORE_OF_AN_OPEN_REPEAT

    def _atom(self) -> _Maker:
        if self._take("("):
            return self._group()
        if self._take("["):
            return _one_of(self._set())
        if self._take("^") or self._take("$"):
            return lambda random: ""
        if self._take("."):
            return _one_of(_PRINTABLE)
        if self.rest[0] in "*+?":
            raise self.unsupported()
        return _one_of(self._character())

    def _group(self) -> _Maker:
        if self._take("?:"):
            pass
        elif self._take("?P<") or (self.rest.startswith("?<") and self.rest[2:3] not in "=!" and self._take("?<")):
            self._at = self._pattern.index(">", self._at) + 1
        elif self.rest.startswith("?"):
            raise self.unsupported()
        make = self.alternatives()
        if not self._take(")"):
            raise self.unsupported()
        return make

    def _set(self) -> str:
        negated, members = self._take("^"), ""
        while not members or not self.rest.startswith("]"):
            if not self.rest:
                raise self.unsupported()
            start = self._character()
            if len(start) == 1 and self.rest[:1] == "-" and self.rest[1:2] not in ("", "]"):
                self._at += 1
                members += "".join(map(chr, range(ord(start), ord(self._character()[0]) + 1)))
            else:
                members += start
        self._take("]")
        chosen = "".join(each for each in _PRINTABLE if each not in members) if negated else members
        if not chosen:
            raise self.unsupported()
        return chosen

    def _character(self) -> str:
        """One literal character, or the members of a class such as ``\\d``."""
        if not self._take("\\"):
            self._at += 1
            return self._pattern[self._at - 1]
        sign = self.rest[:1]
        if sign in _CLASSES:
            members = _CLASSES[sign]
        elif sign.lower() in _CLASSES and sign:
            members = "".join(each for each in _PRINTABLE if each not in _CLASSES[sign.lower()])
        elif sign in _CONTROL:
            members = _CONTROL[sign]
        elif sign and not sign.isalnum():
            members = sign
        else:
            raise self.unsupported()
        self._at += 1
        return members

    def _take(self, sign: str) -> bool:
        if self.rest.startswith(sign):
            self._at += len(sign)
            return True
        return False


def _one_of(members: str) -> _Maker:
    return lambda random: random.choice(members)
