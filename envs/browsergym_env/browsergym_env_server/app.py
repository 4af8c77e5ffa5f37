"""The ASGI application of the browser server: ``uvicorn browsergym_env_server.app:app``."""

from browsergym_env_server import spec
from browsergym_env_server.start import check_start
from openenv_core.server import create_app_from_spec

__all__ = ["app"]

# Each environment reads the variables for itself; a bad one must stop the server here, before a port is opened.
check_start()

app = create_app_from_spec(spec)
