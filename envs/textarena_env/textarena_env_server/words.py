"""The words that games hide and accept. One copy in memory, shared by all sessions of a process."""

import functools
from collections.abc import Iterable, Iterator, MutableSet
from importlib import resources
from typing import TypeVar

__all__ = ["OrderedSet", "allowed_words", "common_words", "is_allowed"]

ItemT = TypeVar("ItemT")


class OrderedSet(MutableSet[ItemT]):
    """A set that is walked in the order of insertion.

    The order of a built-in set of strings differs from process to process, so a game that draws from one would break
    the promise that a seed fixes the episode.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[ItemT] = ()) -> None:
        self._items = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[ItemT]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, value: ItemT) -> None:
        """Put an item in, at the end if it is new."""
        self._items[value] = None

    def discard(self, value: ItemT) -> None:
        """Take an item out, if it is there."""
        self._items.pop(value, None)


@functools.cache
def _lists(name: str) -> dict[int, tuple[str, ...]]:
    """The words of a list by length, each in alphabetical order."""
    text = resources.files(__package__).joinpath("data", f"{name}.txt").read_text(encoding="ascii")
    found: dict[int, list[str]] = {}
    for word in text.split():
        found.setdefault(len(word), []).append(word)
    return {length: tuple(words) for length, words in found.items()}


@functools.cache
def allowed_words(length: int | None = None) -> tuple[str, ...]:
    """What counts as an English word: all words of ``length`` letters, or of any length."""
    return _of(_lists("allowed"), length)


@functools.cache
def common_words(length: int | None = None) -> tuple[str, ...]:
    """What a game may hide: common words in their base form. Each of them is an allowed word."""
    return _of(_lists("common"), length)


def _of(lists: dict[int, tuple[str, ...]], length: int | None) -> tuple[str, ...]:
    if length is None:
        return tuple(word for words in lists.values() for word in words)
    return lists.get(length, ())


@functools.cache
def _members(length: int) -> frozenset[str]:
    return frozenset(allowed_words(length))


def is_allowed(word: str) -> bool:
    """Whether ``word``, in lower case, counts as an English word."""
    return word in _members(len(word))
