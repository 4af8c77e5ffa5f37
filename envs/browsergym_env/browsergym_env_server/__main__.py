"""``python -m browsergym_env_server``: the server on the port of ``BROWSERGYM_PORT`` (8000)."""

import os
import sys

from openenv_core.errors import ConfigurationError
from openenv_core.server.runner import run


def main() -> int:
    """Serve until told to stop; returns the exit code."""
    try:
        from browsergym_env_server.app import app

        text = os.environ.get("BROWSERGYM_PORT", "8000")
        if not text.isdigit():
            raise ConfigurationError(f"BROWSERGYM_PORT={text!r} is not a port")
        return run(app, host=os.environ.get("HOST", "127.0.0.1"), port=int(text))
    except ConfigurationError as error:
        print(f"error: {error.message}", file=sys.stderr)  # noqa: T201 - this is a program
        return 1


if __name__ == "__main__":
    sys.exit(main())
