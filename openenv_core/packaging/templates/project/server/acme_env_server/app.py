"""The ASGI application of the acme server: ``uvicorn acme_env_server.app:app``."""

from openenv_core import create_app_from_spec

from acme_env_server import spec

__all__ = ["app"]

app = create_app_from_spec(spec)
