"""The ASGI application of the OpenSpiel server: ``uvicorn openspiel_env_server.app:app``."""

from openenv_core.server import create_app_from_spec
from openspiel_env_server import spec
from openspiel_env_server.settings import OpenSpielSettings

__all__ = ["app"]

# Each environment reads the variables for itself; a bad one must stop the server here, before a port is opened.
OpenSpielSettings.from_environ()

app = create_app_from_spec(spec)
