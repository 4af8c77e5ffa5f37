"""The ASGI application of the OpenSpiel server: ``uvicorn openspiel_env_server.app:app``."""

from openenv_core.server import create_app_from_spec
from openspiel_env_server import spec

__all__ = ["app"]

app = create_app_from_spec(spec)
