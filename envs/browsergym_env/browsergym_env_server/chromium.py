"""One running Chromium: its start, its flags, its end."""

import asyncio
import contextlib
import logging
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browsergym_env_server.executable import FoundBrowser
from browsergym_env_server.settings import BrowserGymSettings
from openenv_core.errors import EnvironmentFailedError

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

__all__ = ["Chromium"]

_log = logging.getLogger(__name__)

_START_LIMIT_S = 30.0
_END_LIMIT_S = 5.0
_DEATH_LIMIT_S = 1.0
_PAUSE_S = 0.01
_PROC = Path("/proc")

# A second --disable-features replaces the first, so this list repeats what Playwright needs of its own.
_FEATURES_OFF = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "Translate",
    # Scrollbars take room in the layout and show in pictures, as BrowserGym has them.
    "OverlayScrollbars",
    "ExtendedOverlayScrollbars",
)
_FLAGS = (
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-quic",
    "--no-pings",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
    "--lang=en-US",
    # Drawing in software by the browser itself: one process less, and faster for small pages.
    "--disable-gpu",
    "--disable-software-rasterizer",
)


@dataclass(frozen=True)
class _Process:
    """What is known of the browser's process, for the time when only force helps."""

    pid: int
    driver: int | None
    profile: Path | None


class Chromium:
    """A browser, with a driver of its own.

    Attributes:
        in_use: sessions that it carries.
        served: sessions that it has carried so far.
        is_sandboxed: whether Chromium's own sandbox is on.
        magnifies: its windows have the size of the picture and show pages enlarged to it, laid out at their own size. A
            picture is then what the window shows. Where windows have borders, each picture is drawn for itself, which
            takes twice as long.
    """

    def __init__(
        self, driver: "Playwright", browser: "Browser", process: _Process, *, is_sandboxed: bool, magnifies: bool
    ) -> None:
        self._driver = driver
        self._browser = browser
        self._process = process
        self._ended = False
        self.in_use = 0
        self.served = 0
        self.is_sandboxed = is_sandboxed
        self.magnifies = magnifies

    @classmethod
    async def launch(cls, found: FoundBrowser, settings: BrowserGymSettings, gate_port: int) -> "Chromium":
        """Start a browser whose every request goes to the gate.

        Raises:
            EnvironmentFailedError: it does not start; the message says why.
        """
        driver = await _start_driver()
        try:
            browser, is_sandboxed = await _start(driver, found.path, settings, gate_port)
            magnifies = settings.headless and found.is_shell
            process = await _process_of(browser)
            return cls(driver, browser, process, is_sandboxed=is_sandboxed, magnifies=magnifies)
        except BaseException:
            await _within(driver.stop())
            raise

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        if self._ended or not self._browser.is_connected():
            return False
        # The driver tells of the browser's end, but nobody tells of the driver's.
        return all(_is_running(pid) for pid in (self._process.pid, self._process.driver) if pid is not None)

    @property
    def pid(self) -> int:
        """The id of its main process, which is also that of its process group."""
        return self._process.pid

    def on_end(self, told: Callable[[], None]) -> Callable[[], None]:
        """Call ``told()`` when it has ended, for whatever reason; returns what makes that undone."""

        def listener(_: object) -> None:
            told()

        self._browser.on("disconnected", listener)
        return lambda: self._browser.remove_listener("disconnected", listener)

    async def new_context(self, settings: BrowserGymSettings) -> "BrowserContext":
        """An isolated set of pages: cookies, storage and cache are shared with nobody."""
        # The scale is not the browser's own (--force-device-scale-factor), which rounds layouts in another way.
        size: dict[str, Any] = {"no_viewport": True}
        if not self.magnifies:
            viewport = {"width": settings.viewport_width, "height": settings.viewport_height}
            size = {"viewport": viewport, "device_scale_factor": settings.screenshot_scale}
        return await self._browser.new_context(accept_downloads=False, service_workers="block", **size)

    async def close(self) -> None:
        """End it, by force where it does not end by itself, and remove what it left on the disk. Never raises."""
        try:
            if not self._ended:
                await _within(self._browser.close())
        finally:
            self.kill()
            await _within(self._driver.stop())

    async def end_with_loop(self) -> None:
        """End it when the event loop ends, which has cut the line to the driver: that one is told by a signal.

        At that signal the driver ends the browser and removes its files. It stays itself: its input has not ended.
        """
        driver = self._process.driver
        self._signal_driver(signal.SIGTERM)
        await _until(lambda: not _is_running(self.pid))
        self.kill()
        self._signal_driver(signal.SIGKILL)
        if driver is not None:
            await _until(lambda: not (_PROC / str(driver)).exists())
        await asyncio.sleep(5 * _PAUSE_S)  # the loop is told by a thread that the driver has been collected

    def _signal_driver(self, number: signal.Signals) -> None:
        if self._process.driver is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._process.driver, number)

    def kill(self) -> None:
        """End it at once, without an event loop's help, and remove what it left on the disk."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        orphans = _group_of(self._process.pid)
        deadline = time.monotonic() + _DEATH_LIMIT_S
        while time.monotonic() < deadline and any(_is_running(pid) for pid in orphans):
            time.sleep(_PAUSE_S)
        _reap(orphans)
        if self._process.profile is not None:
            shutil.rmtree(self._process.profile, ignore_errors=True)


async def _start_driver() -> "Playwright":
    """Playwright's driver.

    It draws a name for its calls from the process-wide generator, whose state is put back here: others count on it. It
    does so before it waits for anything, so between the two steps of the loop around its own nobody else can draw.
    """
    from playwright.async_api import async_playwright

    loop = asyncio.get_running_loop()
    states: list[Any] = []
    loop.call_soon(lambda: states.append(random.getstate()))
    starting = loop.create_task(async_playwright().start())
    loop.call_soon(lambda: random.setstate(states.pop()))
    return await starting


async def _start(
    driver: "Playwright", executable: Path, settings: BrowserGymSettings, gate_port: int
) -> tuple["Browser", bool]:
    from playwright.async_api import Error

    width, height = settings.picture_size
    refusals: list[str] = []
    for sandboxed in _sandbox_choices(settings.sandbox):
        try:
            browser = await driver.chromium.launch(
                executable_path=executable,
                headless=settings.headless,
                chromium_sandbox=sandboxed,
                args=[*_FLAGS, f"--proxy-server=http://127.0.0.1:{gate_port}", f"--window-size={width},{height}"],
                ignore_default_args=["--hide-scrollbars"],
                env=_environment(headless=settings.headless),
                # Where downloads would go; none is accepted, so the folder is never made, and none has to be removed.
                artifacts_dir=Path(tempfile.gettempdir()) / f"openenv-browser-{os.getpid()}",
                timeout=_START_LIMIT_S * 1000,
            )
        except Error as error:
            refusals.append(error.message.strip().splitlines()[0] if error.message.strip() else "no reason given")
            continue
        if not sandboxed:
            _log.warning("Chromium runs without its own sandbox: %s", _why_no_sandbox(settings.sandbox))
        return browser, sandboxed
    raise EnvironmentFailedError(f"the browser {executable} does not start: {refusals[-1]}", executable=str(executable))


def _sandbox_choices(policy: str) -> tuple[bool, ...]:
    if policy == "auto":
        return (False,) if _is_root() else (True, False)
    return (policy == "on",)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _why_no_sandbox(policy: str) -> str:
    if policy == "off":
        return "BROWSERGYM_SANDBOX=off"
    if _is_root():
        return "it has none for root; run the server as another user"
    return "the system does not allow user namespaces here"


def _environment(*, headless: bool) -> dict[str, str | float | bool]:
    """The browser's environment variables: none of the server's but those it needs, so that no secret gets there.

    Language and time zone are fixed, since goals and pages of some tasks show them. The home folder is one that nobody
    has: nothing of the user's is read, and nothing is left there.
    """
    kept = ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "FONTCONFIG_FILE", "FONTCONFIG_PATH"]
    kept += [] if headless else ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"]
    environment: dict[str, str | float | bool] = {name: os.environ[name] for name in kept if name in os.environ}
    return {**environment, "HOME": "/nonexistent", "TZ": "UTC", "LANG": "C.UTF-8", "LANGUAGE": "en_US"}


async def _process_of(browser: "Browser") -> _Process:
    session = await browser.new_browser_cdp_session()
    told = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    pid = next(int(entry["id"]) for entry in told["processInfo"] if entry["type"] == "browser")
    driver = None
    with contextlib.suppress(OSError, IndexError):
        driver = int(_status_of(pid)[1])
    return _Process(pid, driver, _profile_of(pid))


def _profile_of(pid: int) -> Path | None:
    """The folder of a browser's profile. Only Linux tells it; the driver removes it too, unless it is killed."""
    with contextlib.suppress(OSError):
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
        return next((Path(a.partition("=")[2]) for a in arguments if a.startswith("--user-data-dir=")), None)
    return None


def _group_of(leader: int) -> list[int]:
    """The processes of a browser's group, on Linux; the ended ones that nobody has collected yet included."""
    members: list[int] = []
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int(_status_of(int(folder.name))[2]) == leader:
                members.append(int(folder.name))
    return members


def _is_running(pid: int) -> bool:
    try:
        if _PROC.is_dir():
            return _status_of(pid)[0] not in "ZX"
        os.kill(pid, 0)
    except (OSError, IndexError):
        return False
    return True


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _END_LIMIT_S
    while not holds() and time.monotonic() < deadline:  # noqa: ASYNC110 - other processes set no event
        await asyncio.sleep(_PAUSE_S)


def _status_of(pid: int) -> list[str]:
    """State, parent, process group and more (proc(5)); the name before them may hold anything, spaces too."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _reap(orphans: list[int]) -> None:
    """Collect what a browser's helpers left, where they have become this process's children: in a container whose first
    process it is, nobody else would."""
    for pid in orphans:
        with contextlib.suppress(OSError):
            os.waitpid(pid, os.WNOHANG)


async def _within(work: Any) -> None:
    """Wait for the end of something that may hang or fail because its browser is gone."""
    from playwright.async_api import Error

    with contextlib.suppress(Error, OSError, RuntimeError):
        async with asyncio.timeout(_END_LIMIT_S):
            await work
