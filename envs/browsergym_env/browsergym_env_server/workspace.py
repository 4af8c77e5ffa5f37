"""The pages of one session: an isolated context of the browser, and which of its pages is in front."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from browsergym_env_server.chromium import Chromium
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.tab import Tab, page_script
from openenv_core.backends import EnvironmentCrashedError

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Page

__all__ = ["Workspace"]

_MOST_PAGES = 8
"""A page that opens windows in a loop gets no further."""

_DEATH = "the browser has died, or the process of the page"
_CLOSE_LIMIT_S = 5.0
_QUESTION_LIMIT_S = 1.0
_EPISODES_OF_A_CONTEXT = 50
_EPISODES_OF_GARBAGE = 4
"""Every document leaves a megabyte behind that Chromium is in no hurry to free."""


class Workspace:
    """One session's pages.

    Attributes:
        chromium: the browser that they are in.
        front: the page that is acted on and seen; ``None`` once the last one has been closed.
        pages: all that are open, in the order of their opening.
    """

    def __init__(self, chromium: Chromium, context: "BrowserContext", settings: BrowserGymSettings) -> None:
        self.chromium = chromium
        self.front: Page | None = None
        self.pages: list[Page] = []
        self._context = context
        self._settings = settings
        self._tabs: dict[Page, Tab] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._episodes = 1
        self._lifeline: asyncio.Timeout | None = None
        self._is_gone = False
        self._forget = chromium.on_end(self._gone)

    @classmethod
    async def open(cls, chromium: Chromium, settings: BrowserGymSettings) -> "Workspace":
        """A new context with one empty page."""
        context = await chromium.new_context(settings)
        workspace = cls(chromium, context, settings)
        context.set_default_timeout(settings.timeout_ms)
        context.on("page", workspace._opened)
        context.on("dialog", workspace._answer_dialog)
        await context.add_init_script(page_script())
        await context.new_page()
        return workspace

    @property
    def is_alive(self) -> bool:
        """Whether the browser runs, and the process of the page in front."""
        return not self._is_gone and self.chromium.is_alive

    @asynccontextmanager
    async def lifeline(self) -> AsyncIterator[None]:
        """For work on the pages: cut short where the browser dies, or the process of a page.

        Raises:
            EnvironmentCrashedError: it died, before or meanwhile.
        """
        from playwright.async_api import Error

        if not self.is_alive:
            raise EnvironmentCrashedError(_DEATH)
        try:
            async with asyncio.timeout(None) as self._lifeline:
                yield
        except (Error, OSError, RuntimeError) as error:  # what a broken line to the driver raises; TimeoutError is one
            if self.is_alive:
                raise
            raise EnvironmentCrashedError(_DEATH) from error
        finally:
            self._lifeline = None

    async def is_fresh(self) -> bool:
        """Whether another episode can start here as if nothing had been before it: one page, which has stored nothing.

        A new document in an old page is several times as quick as a new context. Each such episode is counted: after
        some, the answer is no.
        """
        from playwright.async_api import Error

        if not self.is_alive or self.front is None or len(self.pages) != 1:
            return False
        self._episodes += 1
        if self._episodes > _EPISODES_OF_A_CONTEXT:
            return False
        try:
            async with asyncio.timeout(_QUESTION_LIMIT_S):
                tab = await self.tab()
                return bool(await tab.call("hasStoredNothing"))
        except (Error, OSError, RuntimeError):
            return False

    def collect_garbage_soon(self) -> None:
        """To be called once for every episode, when its first observation has been taken: the agent thinks now."""
        if self._episodes % _EPISODES_OF_GARBAGE == 1 and self.front in self._tabs:
            self._later(self._tabs[self.front].collect_garbage)

    async def tab(self) -> Tab:
        """The tab of the page in front; an empty page is opened where there is none."""
        if self.front is None:
            await self._context.new_page()
        page = self.front
        assert page is not None
        if page not in self._tabs:
            self._tabs[page] = await Tab.of(page, self._settings, magnified=self.chromium.magnifies)
        return self._tabs[page]

    async def new_page(self) -> None:
        """Open an empty page, in front."""
        await self._context.new_page()

    async def close_front(self) -> None:
        """Close the page in front; the youngest of the others comes to the front."""
        if self.front is not None:
            await self.front.close()

    async def bring_to_front(self, index: int) -> None:
        """Put another page in front.

        Raises:
            IndexError: there are fewer pages.
        """
        page = self.pages[index]
        self.front = page
        await page.bring_to_front()

    async def close(self) -> None:
        """Close all pages and forget what they stored. Never raises, and takes a few seconds at most."""
        from playwright.async_api import Error

        self._forget()
        for task in self._tasks:
            task.cancel()
        if not self.chromium.is_alive:
            return
        with contextlib.suppress(Error, OSError, RuntimeError):
            async with asyncio.timeout(_CLOSE_LIMIT_S):
                await self._context.close()

    def _opened(self, page: "Page") -> None:
        if len(self.pages) >= _MOST_PAGES:
            self._later(page.close)
            return
        self.pages.append(page)
        self.front = page
        page.on("close", self._closed)
        page.on("crash", lambda _: self._gone())

    def _gone(self) -> None:
        self._is_gone = True
        if self._lifeline is not None and not self._lifeline.expired():
            self._lifeline.reschedule(asyncio.get_running_loop().time())

    def _closed(self, page: "Page") -> None:
        if page in self.pages:
            self.pages.remove(page)
        self._tabs.pop(page, None)
        if self.front is page:
            self.front = self.pages[-1] if self.pages else None

    def _answer_dialog(self, dialog: "Dialog") -> None:
        # A dialog stops its page until it is answered. Leaving is allowed; to everything else the answer is no.
        self._later(dialog.accept if dialog.type == "beforeunload" else dialog.dismiss)

    def _later(self, work: Callable[[], Awaitable[Any]]) -> None:
        # It is begun in the task: a task that is cancelled before its first turn leaves no coroutine that never ran.
        task = asyncio.ensure_future(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _quietly(work: Callable[[], Awaitable[Any]]) -> None:
    from playwright.async_api import Error

    with contextlib.suppress(Error, OSError, RuntimeError, EnvironmentCrashedError):
        await work()
