"""The commands that serve an app of the toy environment, or any other, with either package."""

import sys
from pathlib import Path

from benchmarks.processes import REPOSITORY, peer_python, source_path

__all__ = ["OUR_PLACE", "PEER_PLACE", "our_command", "peer_command"]

OUR_PLACE = {"PYTHONPATH": source_path()}
PEER_PLACE = {"PYTHONPATH": str(REPOSITORY)}
"""Where the processes find their modules; the public package's finds nothing under its own name in the source tree."""

_FOLDER = Path(__file__).parent
_UVICORN = ("-m", "uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "warning")


def our_command(app: str) -> list[str]:
    """Serves an app of ``toy_ours``, or any ``module:app``, from the source tree."""
    return [sys.executable, *_UVICORN, *_place(app, "toy_ours")]


def peer_command(app: str) -> list[str]:
    """Serves an app of ``toy_peer``, or any ``module:app``, with the public package; transport as it comes."""
    return [str(peer_python()), *_UVICORN, *_place(app, "toy_peer")]


def _place(app: str, module: str) -> list[str]:
    return [app] if ":" in app else ["--app-dir", str(_FOLDER), f"{module}:{app}"]
