"""What TextArena's modules get instead of the modules that would reach out or rebuild what is shared."""

import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openenv_core.errors import ConfigurationError
from textarena_env_server.words import OrderedSet, allowed_words, common_words, is_allowed

__all__ = ["makers"]


class _EnglishDictionary:
    """TextArena's dictionary, over the word list of this package: built once, and not for each game anew."""

    _all: OrderedSet[str] | None = None

    def __init__(self, **_: Any) -> None:
        """The options choose between sources of words that are one list here."""

    def is_english_word(self, word: str) -> bool:
        """Whether it counts as a word."""
        return is_allowed(word.lower())

    def get_all_words(self) -> OrderedSet[str]:
        """All words, shared."""
        if _EnglishDictionary._all is None:
            _EnglishDictionary._all = OrderedSet(allowed_words())
        return _EnglishDictionary._all

    uk_words = us_words = nltk_words = property(get_all_words)

    def get_basic_words(self) -> OrderedSet[str]:
        """The common words."""
        return OrderedSet(common_words())


class _Corpus:
    """``nltk.corpus.words``."""

    def words(self, name: str = "en") -> tuple[str, ...]:
        """``en-basic`` are the common words, anything else all of them."""
        return common_words() if name == "en-basic" else allowed_words()


def _tag(tokens: list[str]) -> list[tuple[str, str]]:
    """In place of a part-of-speech tagger: which words are fit to be hidden has been decided in the list."""
    return [(token, "NN") for token in tokens]


class _NeedsRemoteModel:
    """In place of the clients of language models."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ConfigurationError("the game needs a language model behind a remote service, and games run offline here")


def _module(name: str, contents: dict[str, Any]) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(contents)
    return module


def makers(folder: Path) -> dict[str, Callable[[], types.ModuleType]]:
    """What makes each stand-in, by the name under which it is imported.

    Args:
        folder: where TextArena is installed; its data files are read from there.
    """

    def files(package: str) -> Path:
        return folder.joinpath(*package.split(".")[1:])

    contents: dict[str, dict[str, Any]] = {
        "nltk": {"download": lambda *_, **__: True, "pos_tag": _tag},
        "nltk.corpus": {"words": _Corpus()},
        "importlib": {"resources": types.SimpleNamespace(files=files)},
        "importlib.resources": {"files": files},
        "textarena.api": {"make_online": _NeedsRemoteModel, "make_mgc_online": _NeedsRemoteModel},
        "textarena.agents": {"OpenRouterAgent": _NeedsRemoteModel},
        "textarena.wrappers.RenderWrappers": {"SimpleRenderWrapper": object},
        "textarena.envs.utils.word_lists": {"EnglishDictionary": _EnglishDictionary},
    }
    return {name: functools.partial(_module, name, found) for name, found in contents.items()}
