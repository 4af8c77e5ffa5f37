"""What a server needs for looking on, by its settings."""

import errno
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter

from openenv_core.errors import ConfigurationError
from openenv_core.recording import Recorder
from openenv_core.recording.conversations import STEP
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.gateway import Gateway
from openenv_core.server.watch.door import WatchDoor
from openenv_core.server.watch.hub import Hub
from openenv_core.server.watch.replay import ReplayDoor
from openenv_core.targets import installed
from openenv_core.tools import Tool, openai_tools

__all__ = ["look_on"]


def look_on(
    gateway: Gateway, doorkeeper: Doorkeeper, tools: Mapping[str, Tool] | None
) -> tuple[Recorder | None, list[APIRouter]]:
    """Record and let watch, as the settings say: the recorder, and the routes of those who watch. Neither by default,
    and then nothing looks at any session."""
    settings = gateway.settings
    recorder = _recorder(gateway) if settings.record else None
    if recorder is None and not settings.web_interface:
        return None, []
    hub = Hub(
        gateway.env_name,
        _version_of(gateway.env_name),
        gateway.manager,
        recorder,
        record_all=settings.record_sessions == "all",
        tools=_tools(gateway, tools) if recorder is not None else (),
    )
    gateway.on_opened = hub.opened
    gateway.closers.append(hub.close)
    if not settings.web_interface:
        return recorder, []
    return recorder, [WatchDoor(gateway, doorkeeper, hub).router, ReplayDoor(gateway, doorkeeper, recorder).router]


def _tools(gateway: Gateway, tools: Mapping[str, Tool] | None) -> list[dict[str, Any]]:
    if tools:
        return openai_tools(tools.values())
    schema = gateway.schema()["action"]
    # `metadata` is room for the caller that an environment does not need.
    properties = {name: kind for name, kind in schema.get("properties", {}).items() if name != "metadata"}
    about = str(schema.get("description") or "Do an action.").partition("\n\n")[0]
    parameters = {**schema, "properties": properties} if properties else dict(schema)
    for name in ("title", "description"):
        parameters.pop(name, None)
    return [{"type": "function", "function": {"name": STEP, "description": about, "parameters": parameters}}]


def _recorder(gateway: Gateway) -> Recorder:
    settings = gateway.settings
    folder = Path(settings.record)
    _require_usable(folder)
    return Recorder(
        folder,
        max_bytes=settings.record_max_mb * 2**20,
        max_age_s=settings.record_max_age_s,
        secrets=gateway.secrets,
    )


def _require_usable(folder: Path) -> None:
    """Refuse a place in which no file can be made. A disk that is full may have room again: the recorder warns of it.

    Raises:
        ConfigurationError: says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return
        why = "it is a file" if folder.is_file() else error.strerror
        raise ConfigurationError(
            f"no episode can be recorded in {folder}: {why}; name another folder with --record or OPENENV_RECORD"
        ) from error


def _version_of(environment: str) -> str | None:
    entry = installed().get(environment)
    return entry.dist.version if entry is not None and entry.dist is not None else None
