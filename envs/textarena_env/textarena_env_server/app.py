"""The ASGI application of the TextArena server: ``uvicorn textarena_env_server.app:app``."""

from openenv_core.server import create_app_from_spec
from textarena_env_server import spec
from textarena_env_server.games import find_game
from textarena_env_server.settings import TextArenaSettings

__all__ = ["app"]

# A variable with a value that cannot work ends the start, and not the first session.
find_game(TextArenaSettings.from_environ()).try_build()

app = create_app_from_spec(spec)
