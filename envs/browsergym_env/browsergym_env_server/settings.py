"""How an operator sets the browser environment up: its environment variables and their defaults."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from browsergym_env.models import ObservationPart
from browsergym_env_server.language import ACTIONS
from browsergym_env_server.origins import Origin
from openenv_core.errors import ConfigurationError

__all__ = ["BrowserGymSettings"]

BENCHMARK = "miniwob"
_PARTS: tuple[str, ...] = get_args(ObservationPart)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("must be 1 or more")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise ValueError("must be a port, or 0 for a free one")
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError("must be a positive number")
    return value


def _not_negative(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("must be a number of 0 or more")
    return value


def _limit(text: str) -> int | None:
    return None if text.strip().lower() in ("", "none") else _count(text)


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("must be true or false")


def _text(text: str) -> str | None:
    return text.strip() or None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.replace(",", " ").split() if word)


def _among(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        words = _words(text)
        unknown = [word for word in words if word not in known]
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is none of {', '.join(known)}")
        return words

    return read


def _one_of(*known: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in known:
            raise ValueError(f"must be one of {', '.join(known)}")
        return text.lower()

    return read


def _origins(text: str) -> tuple[Origin, ...]:
    return tuple(Origin.of(word) for word in _words(text))


def _pages_url(text: str) -> str | None:
    if not text.strip():
        return None
    Origin.of(text.strip())
    return text.strip().rstrip("/") + "/"


def _setting(default: Any, variable: str, read: Callable[[str], Any], meaning: str) -> Any:
    return field(default=default, metadata={"variable": variable, "read": read, "meaning": meaning})


@dataclass(frozen=True)
class BrowserGymSettings:
    """What is served, how pages are seen, and what bounds an episode.

    :meth:`from_environ` raises ``ConfigurationError``, naming the variable, for a value that cannot work.
    """

    benchmark: str = _setting(BENCHMARK, "BROWSERGYM_BENCHMARK", _one_of(BENCHMARK), "collection of tasks")
    task_name: str = _setting("click-test", "BROWSERGYM_TASK_NAME", str.strip, "task unless reset names one")
    observe: tuple[str, ...] = _setting(
        ("axtree", "screenshot"), "BROWSERGYM_OBSERVE", _among(_PARTS), f"what is taken of a page: {', '.join(_PARTS)}"
    )
    viewport_width: int = _setting(332, "BROWSERGYM_VIEWPORT_WIDTH", _count, "width of the page, CSS pixels")
    viewport_height: int = _setting(214, "BROWSERGYM_VIEWPORT_HEIGHT", _count, "height of the page, CSS pixels")
    screenshot_scale: float = _setting(
        1.5, "BROWSERGYM_SCREENSHOT_SCALE", _positive, "picture pixels per CSS pixel; coordinates count in them too"
    )
    max_steps: int | None = _setting(100, "BROWSERGYM_MAX_STEPS", _limit, "steps until truncation, none for no limit")
    episode_limit_s: float = _setting(
        900.0, "BROWSERGYM_EPISODE_LIMIT_S", _positive, "seconds until an episode is truncated"
    )
    timeout_ms: float = _setting(
        10_000.0, "BROWSERGYM_TIMEOUT", _positive, "milliseconds for the actions of a step, and for a page to load"
    )
    page_timeout_ms: float = _setting(
        30_000.0,
        "BROWSERGYM_PAGE_TIMEOUT",
        _positive,
        "a page that is silent for so many milliseconds ends its session",
    )
    settle_ms: float = _setting(
        300.0, "BROWSERGYM_SETTLE_MS", _not_negative, "longest wait, after an action, for a page to come to rest"
    )
    actions: tuple[str, ...] = _setting(
        tuple(ACTIONS), "BROWSERGYM_ACTIONS", _among(tuple(ACTIONS)), "actions that agents may use"
    )
    multiaction: bool = _setting(True, "BROWSERGYM_MULTIACTION", _flag, "several calls in one action are allowed")
    headless: bool = _setting(True, "BROWSERGYM_HEADLESS", _flag, "no window is shown")
    browser: str | None = _setting(None, "BROWSERGYM_BROWSER", _text, "path of a Chromium; found where not given")
    sandbox: str = _setting(
        "auto", "BROWSERGYM_SANDBOX", _one_of("auto", "on", "off"), "Chromium's own sandbox; auto: where it works"
    )
    recycle_after: int = _setting(500, "BROWSERGYM_RECYCLE_AFTER", _count, "sessions until a new browser is started")
    linger_s: float = _setting(60.0, "BROWSERGYM_LINGER_S", _not_negative, "an unused browser ends after, seconds")
    allowed_origins: tuple[Origin, ...] = _setting(
        (), "BROWSERGYM_ALLOWED_ORIGINS", _origins, "origins that pages may reach besides the tasks' own"
    )
    pages_url: str | None = _setting(None, "MINIWOB_URL", _pages_url, "address of task pages that others serve")
    pages_folder: str | None = _setting(None, "MINIWOB_HTML_DIR", _text, "folder of the task pages")
    pages_port: int = _setting(0, "MINIWOB_HTTP_PORT", _port, "loopback port of the pages, 0 for a free one")

    @property
    def timeout_s(self) -> float:
        """:attr:`timeout_ms` in seconds."""
        return self.timeout_ms / 1000

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of a picture, in its own pixels."""
        return round(self.viewport_width * self.screenshot_scale), round(self.viewport_height * self.screenshot_scale)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> "BrowserGymSettings":
        """The settings that the environment variables give."""
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for entry in fields(cls):
            variable = entry.metadata["variable"]
            if variable not in environ:
                continue
            try:
                values[entry.name] = entry.metadata["read"](environ[variable])
            except ValueError as error:
                raise ConfigurationError(f"{variable}={environ[variable]!r}: {error}") from None
        return cls(**values)

    @classmethod
    def table(cls) -> list[tuple[str, str, Any, str]]:
        """One row per setting: name, environment variable, default, meaning."""
        return [(f.name, f.metadata["variable"], f.default, f.metadata["meaning"]) for f in fields(cls)]
