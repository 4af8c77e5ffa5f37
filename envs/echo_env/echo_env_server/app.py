"""The ASGI application of the echo server: ``uvicorn echo_env_server.app:app``."""

from echo_env_server import spec
from openenv_core.server import create_app_from_spec

__all__ = ["app"]

app = create_app_from_spec(spec)
