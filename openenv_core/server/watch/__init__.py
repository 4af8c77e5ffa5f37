"""Looking on: recording, and watching by the page. Nothing here is attached to a session that nobody looks at."""

from openenv_core.server.watch.hub import Hub

__all__ = ["Hub"]
