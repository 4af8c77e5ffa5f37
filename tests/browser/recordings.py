"""What the real BrowserGym was seen to do, and where this environment means to do otherwise."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from browsergym_env_server.gate import PAGES_ORIGIN

__all__ = [
    "DIFFERENCES",
    "oracle",
    "pruned_without_pseudo_elements",
    "seeding",
    "with_our_origin",
    "without_heights",
    "without_origin",
]

_FILE = Path(__file__).resolve().parent.parent / "data" / "browsergym-oracle.json"
_PSEUDO = re.compile(r"&lt;::(?:before|after|marker)&gt;")

DIFFERENCES: Final = {
    ("click-test", "press('13', 'Foo')"): "an unknown key is named at once, not waited for",
    ("click-test", "scroll('down')"): "words are understood too, for programs of the public environment",
    (
        "click-test",
        "goto('data:text/html,hi')",
    ): "an address outside the allowed ones is refused, and the episode goes on",
    ("click-test", "goto('javascript:alert(1)')"): "the same, in other words",
}
"""Recorded steps, by task and action, whose outcome is another one here; with the reason."""


@cache
def _recordings() -> dict[str, Any]:
    recordings: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return recordings


def oracle() -> dict[str, Any]:
    """First observations (``initial``), solved episodes (``episodes``), errors and corner cases (``cases``)."""
    public: dict[str, Any] = _recordings()["public"]
    return public


def seeding() -> dict[str, Any]:
    """Seeds of episodes and the seeds of their pages."""
    found: dict[str, Any] = _recordings()["seeding"]
    return found


def with_our_origin(text: str) -> str:
    """A recorded text with the address of the pages here."""
    return text.replace("ORIGIN", PAGES_ORIGIN.authority).replace("OTHER", "other.localhost")


def without_origin(text: str) -> str:
    """A text from here as it is recorded."""
    return text.replace(PAGES_ORIGIN.authority, "ORIGIN")


def pruned_without_pseudo_elements(html: str) -> str:
    """Recorded HTML without ``::before`` and the like, which BrowserGym writes as if they were text."""
    lines = (_PSEUDO.sub("", line) for line in html.splitlines() if _PSEUDO.sub("", line).strip() or not line.strip())
    return "".join(f"{line}\n" for line in lines)


def without_heights(html: str) -> str:
    """HTML without the heights that scripts have measured: those of a text depend on the fonts of the machine."""
    return re.sub(r"\bheight: [\d.]+px", "height: ?px", html)
