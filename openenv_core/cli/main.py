"""The ``openenv`` command."""

import io
import sys

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. Errors of ours end in one line and exit code 1, not in a traceback."""
    _write_what_the_locale_can()
    try:
        _run()
    except KeyboardInterrupt:
        # At any moment, while modules are still being loaded, too.
        sys.exit(_INTERRUPTED)


def _run() -> None:
    from openenv_core.errors import OpenEnvError
    from openenv_core.extras import why_missing

    try:
        from openenv_core.cli.commands import app

        app()
    except OpenEnvError as error:
        import typer

        typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
        sys.exit(1)
    except ImportError as error:
        why = why_missing(error)
        if why is None:
            raise
        sys.exit(f"error: {why}")


def _write_what_the_locale_can() -> None:
    """A character that the output's encoding lacks becomes a question mark, and does not end the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
