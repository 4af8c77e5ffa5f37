"""The ``openenv`` command."""

import sys

__all__ = ["main"]

_NEEDS_EXTRA = "the openenv command needs the extra `cli`: pip install 'openenv-core[cli]'"


def main() -> None:
    """Run the command line. Errors of ours end in one line and exit code 1, not in a traceback."""
    try:
        import typer
    except ImportError:
        sys.exit(_NEEDS_EXTRA)
    from openenv_core.cli.commands import app
    from openenv_core.errors import OpenEnvError

    try:
        app()
    except OpenEnvError as error:
        typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
        sys.exit(1)
