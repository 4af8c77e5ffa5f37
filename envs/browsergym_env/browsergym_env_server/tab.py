"""One page of the browser, and what can be seen of it."""

import asyncio
import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from browsergym_env_server.axtree import render
from browsergym_env_server.settings import BrowserGymSettings
from openenv_core.backends import EnvironmentCrashedError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

__all__ = ["Look", "Tab", "Verdict", "page_script"]

_SCRIPTS = ("marks", "reach", "markup", "pace", "miniwob")
_TRIES = 4

# Compressed less, a small picture is a fifth cheaper, and still a few kilobytes.
_PICTURE = {"format": "png", "optimizeForSpeed": True}

# What the protocol says where a page was replaced by another one while a script ran in it.
_REPLACED = ("Execution context was destroyed", "navigated or closed", "Cannot find context", "Promise was collected")


@cache
def page_script() -> str:
    """The script that every document starts with (``scripts/``)."""
    folder = files(__package__) / "scripts"
    return "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)


@dataclass(frozen=True)
class Verdict:
    """How a page ended its task: what it paid, and the reason where it gave one."""

    raw: float
    reason: str


@dataclass(frozen=True)
class Look:
    """A page at one moment; parts that were not asked for are empty.

    Attributes:
        url: its address.
        started: it is the document in which the episode was started.
        verdict: how it ended the task; ``None`` while it has not.
        focused: id of the element that has the focus.
        axtree: the accessibility tree as text.
        markup: the HTML as a list of tokens (``scripts/markup.js``).
        png: the picture's bytes.
        boxes: where elements are, by id, in CSS pixels.
    """

    url: str
    started: bool = False
    verdict: Verdict | None = None
    focused: str = ""
    axtree: str = ""
    markup: Any = None
    png: bytes | None = None
    boxes: Mapping[str, Sequence[float]] | None = None


class Tab:
    """A page and the line to its inner side.

    Every question to a page has a limit: one that runs an endless loop answers none.

    Attributes:
        page: Playwright's page.
        pointer_scale: the pointer's pixels per CSS pixel.
    """

    def __init__(self, page: "Page", link: "CDPSession", limit_s: float, *, pointer_scale: float) -> None:
        self.page = page
        self.pointer_scale = pointer_scale
        self._link = link
        self._limit_s = limit_s

    @classmethod
    async def of(cls, page: "Page", settings: BrowserGymSettings, *, magnified: bool) -> "Tab":
        """The tab of a page that is open.

        Args:
            magnified: as ``magnifies`` of :class:`~browsergym_env_server.chromium.Chromium`.
        """
        link = await page.context.new_cdp_session(page)
        metrics = {
            "width": settings.viewport_width,
            "height": settings.viewport_height,
            "deviceScaleFactor": 1 if magnified else settings.screenshot_scale,
            "mobile": False,
        }
        if magnified:
            # On a line of its own: one that has set sizes draws the page anew for each picture.
            lens = await page.context.new_cdp_session(page)
            magnifier = {"scale": settings.screenshot_scale, "dontSetVisibleSize": True}
            await lens.send("Emulation.setDeviceMetricsOverride", metrics | magnifier)
        else:
            await link.send("Emulation.setDeviceMetricsOverride", metrics)
        scale = settings.screenshot_scale if magnified else 1.0
        return cls(page, link, settings.page_timeout_ms / 1000, pointer_scale=scale)

    async def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of the page's script and give what it returns.

        Raises:
            EnvironmentCrashedError: the page does not answer.
            playwright.async_api.Error: the page was replaced, or it threw.
        """
        told = ", ".join(json.dumps(argument) for argument in arguments)
        return await self._in_time(self._evaluate(f"__openenv.{function}({told})"))

    async def settle(self, quiet_ms: float, limit_ms: float) -> None:
        """Wait until the page has not changed for ``quiet_ms``, at most ``limit_ms``. Raises as :meth:`look` does."""
        from playwright.async_api import Error

        try:
            await self._in_time(self._evaluate(f"window.__openenv?.settle({quiet_ms}, {limit_ms})"))
        except Error as error:
            if not any(sign in error.message for sign in _REPLACED):
                raise

    async def forget_history(self) -> None:
        """Make the document that is shown the page's first: nothing to go back to."""
        await self._in_time(self._link.send("Page.resetNavigationHistory"))

    async def collect_garbage(self) -> None:
        """Have the page's process free what it needs no more. It takes tens of milliseconds."""
        await self._in_time(self._link.send("HeapProfiler.collectGarbage"))

    async def look(self, parts: Collection[str]) -> Look:
        """See the page, once it is loaded.

        Args:
            parts: of ``axtree``, ``screenshot``, ``html``, ``dom`` and ``boxes``.

        Raises:
            EnvironmentCrashedError: the page does not answer.
        """
        seen: Look = await self._in_time(self._look_steadily(parts))
        return seen

    async def _look_steadily(self, parts: Collection[str]) -> Look:
        from playwright.async_api import Error

        for attempt in range(_TRIES):
            try:
                return await self._look_once(parts)
            except Error as error:
                if not any(sign in error.message for sign in _REPLACED) or attempt == _TRIES - 1:
                    raise
            await self.page.wait_for_load_state("domcontentloaded", timeout=self._limit_s * 1000)
        raise AssertionError("unreachable")

    async def _look_once(self, parts: Collection[str]) -> Look:
        with_tree, with_markup = "axtree" in parts, "html" in parts or "dom" in parts
        # Sent together: the page answers them in this order, and one way there and back is waited for instead of four.
        seen, tree, _, shot, boxes = await asyncio.gather(
            self._evaluate(f"window.__openenv?.look({json.dumps(with_tree)}, {json.dumps(with_markup)})"),
            self._link.send("Accessibility.getFullAXTree") if with_tree else _nothing(),
            self._evaluate("window.__openenv?.removeNotes()") if with_tree else _nothing(),
            self._link.send("Page.captureScreenshot", _PICTURE) if "screenshot" in parts else _nothing(),
            self._evaluate("window.__openenv?.boxes()") if "boxes" in parts else _nothing(),
        )
        verdict = (seen or {}).get("verdict")
        return Look(
            url=seen["url"] if seen else self.page.url,
            started=bool(seen and seen["started"]),
            verdict=Verdict(float(verdict["raw"]), verdict["reason"]) if verdict else None,
            focused=seen["focused"] if seen else "",
            axtree=render(tree["nodes"]) if tree else "",
            markup=seen["markup"] if seen else None,
            png=base64.b64decode(shot["data"]) if shot else None,
            boxes=boxes,
        )

    async def _evaluate(self, expression: str) -> Any:
        from playwright.async_api import Error

        request = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = await self._link.send("Runtime.evaluate", request)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Error(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    async def _in_time(self, work: Any) -> Any:
        try:
            async with asyncio.timeout(self._limit_s):
                return await work
        except TimeoutError:
            raise EnvironmentCrashedError(f"the page has not answered for {self._limit_s:g} s") from None


async def _nothing() -> None:
    return None
