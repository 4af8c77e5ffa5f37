"""Finding a browser on this machine, and getting one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from openenv_core.errors import ConfigurationError

__all__ = ["HELP", "FoundBrowser", "find_browser", "install_browser"]

HELP = (
    "no browser was found. Give the path of one in BROWSERGYM_BROWSER, or run `openenv install-browser`; on Debian and "
    "Ubuntu that is `apt-get install chromium-headless-shell fonts-liberation` (as root), elsewhere `playwright "
    "install chromium-headless-shell`"
)

# The package's own path before the command: the command is a shell script around it, one process more per browser.
_DEBIAN = ("/usr/lib/chromium/chromium-headless-shell", "chromium-headless-shell", "headless_shell")
_OTHERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Pages are made for Arial and Helvetica; those fonts have its measures, and pages look the same everywhere.
_APT_PACKAGES = ("chromium-headless-shell", "fonts-liberation")
_APT_WAIT = "DPkg::Lock::Timeout=300"
_PLAYWRIGHT_NAMES = ("chrome-headless-shell", "headless_shell", "chrome", "Chromium", "chrome-headless-shell.exe")


@dataclass(frozen=True)
class FoundBrowser:
    """A browser's program, and in words where it came from."""

    path: Path
    source: str

    @property
    def is_shell(self) -> bool:
        """It is a headless shell: a window of it is all page, without borders and bars."""
        return re.search(r"headless.?shell", self.path.name) is not None


def find_browser(given: str | None = None) -> FoundBrowser:
    """A browser, in this order: the one that is given, Playwright's own, Debian's headless shell, any other Chromium.

    Raises:
        ConfigurationError: the given one is no program, or there is none at all; the message says what to do.
    """
    if given is not None:
        path = shutil.which(given)
        if path is None:
            raise ConfigurationError(f"BROWSERGYM_BROWSER={given!r} is not a program that can be run")
        return FoundBrowser(Path(path), "the path that was given")
    found = next(_installed(), None)
    if found is None:
        raise ConfigurationError(HELP)
    return found


def install_browser(given: str | None = None, *, report: Callable[[str], None] = print) -> FoundBrowser:
    """:func:`find_browser`, after installing a browser where there is none: by apt as root, else by Playwright.

    Args:
        report: told what is being done, a line at a time.

    Raises:
        ConfigurationError: no way worked, or the browser does not start; the message says what to do.
    """
    found = _found_or_installed(given, report)
    failure = _run([[str(found.path), "--version"]])
    if failure is not None:
        hint = "libraries may be missing: try `playwright install-deps` as root"
        raise ConfigurationError(f"{found.path} ({found.source}) does not start: {failure}; {hint}")
    return found


def _found_or_installed(given: str | None, report: Callable[[str], None]) -> FoundBrowser:
    try:
        return find_browser(given)
    except ConfigurationError:
        if given is not None:
            raise
    tried: list[str] = []
    for name, commands in _ways():
        report(f"installing a browser by {name} ...")
        failure = _run(commands)
        found = next(_installed(), None)
        if found is not None:
            return found
        tried.append(f"{name}: {failure or 'it left no browser where one was looked for'}")
    raise ConfigurationError(f"{HELP}. Tried: {'; '.join(tried) or 'nothing, for want of apt and Playwright'}")


def _installed() -> Iterator[FoundBrowser]:
    for path in _playwright_browsers():
        yield FoundBrowser(path, "Playwright's own browser")
    for names, source in ((_DEBIAN, "the system's headless shell"), (_OTHERS, "the system's browser")):
        for name in names:
            path_found = shutil.which(name)
            if path_found is not None:
                yield FoundBrowser(Path(path_found), source)


def _playwright_browsers() -> Iterator[Path]:
    """Programs in Playwright's cache, the newest first, the headless shell before the full browser."""
    places = {
        "darwin": Path.home() / "Library" / "Caches" / "ms-playwright",
        "win32": Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "ms-playwright",
    }
    default = places.get(sys.platform, Path.home() / ".cache" / "ms-playwright")
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or default)
    for kind in ("chromium_headless_shell-*", "chromium-*"):
        for folder in sorted(cache.glob(kind), key=_revision, reverse=True):
            for name in _PLAYWRIGHT_NAMES:
                yield from (path for path in folder.glob(f"*/**/{name}") if os.access(path, os.X_OK) and path.is_file())


def _revision(folder: Path) -> int:
    digits = folder.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def _ways() -> Iterator[tuple[str, list[list[str]]]]:
    apt = shutil.which("apt-get")
    if apt is not None and hasattr(os, "geteuid") and os.geteuid() == 0:
        install = [apt, "-o", _APT_WAIT, "install", "-y", "--no-install-recommends", *_APT_PACKAGES]
        yield "apt", [[apt, "-o", _APT_WAIT, "update"], install]
    command = [sys.executable, "-m", "playwright", "install", "chromium-headless-shell"]
    yield "Playwright's download", [command]


def _run(commands: list[list[str]]) -> str | None:
    """Run commands in turn; the last line of what a failing one said, ``None`` where all went well."""
    for command in commands:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if ran.returncode != 0:
            lines = (ran.stderr or ran.stdout).strip().splitlines()
            return lines[-1] if lines else f"exit code {ran.returncode}"
    return None
