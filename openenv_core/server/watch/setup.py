"""What a server needs for looking on, by its settings."""

from pathlib import Path

from fastapi import APIRouter

from openenv_core.recording import Recorder
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.gateway import Gateway
from openenv_core.server.watch.door import WatchDoor
from openenv_core.server.watch.hub import Hub
from openenv_core.server.watch.replay import ReplayDoor
from openenv_core.targets import installed

__all__ = ["look_on"]


def look_on(gateway: Gateway, doorkeeper: Doorkeeper) -> tuple[Recorder | None, list[APIRouter]]:
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
    )
    gateway.on_opened = hub.opened
    gateway.closers.append(hub.close)
    if not settings.web_interface:
        return recorder, []
    return recorder, [WatchDoor(gateway, doorkeeper, hub).router, ReplayDoor(doorkeeper, recorder).router]


def _recorder(gateway: Gateway) -> Recorder:
    settings = gateway.settings
    return Recorder(
        Path(settings.record),
        max_bytes=settings.record_max_mb * 2**20,
        max_age_s=settings.record_max_age_s,
        secrets=gateway.secrets,
    )


def _version_of(environment: str) -> str | None:
    entry = installed().get(environment)
    return entry.dist.version if entry is not None and entry.dist is not None else None
