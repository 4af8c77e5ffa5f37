"""The browsers of one server: one at a time, shared by its sessions, replaced when it dies or has served enough."""

import asyncio
import logging
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

from browsergym_env_server.chromium import Chromium
from browsergym_env_server.executable import find_browser
from browsergym_env_server.gate import PAGES_ORIGIN, Gate
from browsergym_env_server.origins import Origin
from browsergym_env_server.pages import find_pages
from browsergym_env_server.settings import BrowserGymSettings

__all__ = ["Keeper"]

_log = logging.getLogger(__name__)


class Keeper:
    """Gives each session of one event loop a browser that runs.

    The first one is started when it is first asked for. It ends when no session has used it for a while, and in any
    case with the loop.

    Attributes:
        allowed: the origins that pages may reach.
        pages_url: the address of the folder that the task pages are in.
    """

    _of_loop: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, "Keeper"]] = WeakKeyDictionary()

    def __init__(self, settings: BrowserGymSettings) -> None:
        """Args:
        settings: which browser, which pages.

        Raises:
            ConfigurationError: there are no task pages.
        """
        self._settings = settings
        if settings.pages_url is None:
            pages, own = find_pages(settings.pages_folder), PAGES_ORIGIN
            self.pages_url = f"{PAGES_ORIGIN}/miniwob/"
        else:
            pages, own = None, Origin.of(settings.pages_url)
            self.pages_url = settings.pages_url
        self.allowed = (own, *settings.allowed_origins)
        self._gate = Gate(pages, set(self.allowed) - {PAGES_ORIGIN})
        self._turn = asyncio.Lock()
        self._current: Chromium | None = None
        self._all: set[Chromium] = set()
        self._guard: asyncio.Task[None] | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def of_running_loop(cls, settings: BrowserGymSettings) -> "Keeper":
        """The keeper of this event loop; made with ``settings`` at the first call."""
        loop = asyncio.get_running_loop()
        if loop not in cls._of_loop:
            cls._of_loop[loop] = cls(settings)
        return cls._of_loop[loop]

    @property
    def browsers(self) -> frozenset[Chromium]:
        """Those that run: one, or more while a replaced one still carries sessions."""
        return frozenset(self._all)

    @property
    def refused(self) -> int:
        """Requests of pages that were refused so far."""
        return self._gate.refused

    async def acquire(self) -> Chromium:
        """A browser for one session, which gives it back with :meth:`release`.

        Raises:
            ConfigurationError: there is no browser, or the port for the pages is taken.
            EnvironmentFailedError: the browser does not start.
        """
        async with self._turn:
            self._stop_lingering()
            chromium = self._current
            if chromium is not None and not chromium.is_alive:
                self._ended(chromium)
                chromium = None
            if chromium is None:
                chromium = await self._launch()
            chromium.in_use += 1
            chromium.served += 1
            if chromium.served >= self._settings.recycle_after:
                self._current = None
            return chromium

    def release(self, chromium: Chromium) -> None:
        """A session needs its browser no more."""
        chromium.in_use -= 1
        if chromium.in_use:
            return
        if chromium is not self._current:
            self._retire(chromium)
        elif self._lingering is None:
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(self._settings.linger_s, self._end_of_lingering)

    async def close(self) -> None:
        """End all browsers and the gate. A later :meth:`acquire` starts anew."""
        async with self._turn:
            self._stop_lingering()
            self._current = None
            await asyncio.gather(*(self._end(chromium) for chromium in list(self._all)))
            await asyncio.gather(*self._tasks)
            self._gate.stop()
            if self._guard is not None:
                self._guard.cancel()
                await asyncio.gather(self._guard, return_exceptions=True)
                self._guard = None

    async def _launch(self) -> Chromium:
        found = find_browser(self._settings.browser)
        if self._guard is None:
            await self._gate.start(self._settings.pages_port)
            self._guard = asyncio.create_task(self._watch_over())
        chromium = await Chromium.launch(found, self._settings, self._gate.port)
        _log.info("started %s (%s), process %d", found.path, found.source, chromium.pid)
        chromium.on_end(partial(self._ended, chromium))
        self._all.add(chromium)
        self._current = chromium
        return chromium

    async def _watch_over(self) -> None:
        """Live as long as the loop does, and take the browsers along at its end."""
        try:
            await asyncio.Event().wait()
        finally:
            running, self._all = self._all, set()
            self._gate.stop()
            await asyncio.gather(*(chromium.end_with_loop() for chromium in running))

    def _ended(self, chromium: Chromium) -> None:
        if chromium is self._current:
            self._current = None
        if chromium in self._all:
            if chromium.in_use:
                _log.warning("browser process %d has ended; it carried %d sessions", chromium.pid, chromium.in_use)
            # At once, since the loop may be about to end: its end breaks the line to the browser too.
            chromium.kill()
            self._retire(chromium)

    def _end_of_lingering(self) -> None:
        self._lingering = None
        chromium, self._current = self._current, None
        if chromium is not None:
            self._retire(chromium)

    def _stop_lingering(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None

    def _retire(self, chromium: Chromium) -> None:
        task = asyncio.create_task(self._end(chromium))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self, chromium: Chromium) -> None:
        if chromium in self._all:
            self._all.discard(chromium)
            await chromium.close()
