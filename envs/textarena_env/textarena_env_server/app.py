"""The ASGI application of the TextArena server: ``uvicorn textarena_env_server.app:app``."""

from openenv_core.server import create_app_from_spec
from textarena_env_server import spec

__all__ = ["app"]

app = create_app_from_spec(spec)
