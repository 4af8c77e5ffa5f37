"""``openenv serve``: run a server."""

import dataclasses
import inspect
import sys
from typing import Annotated, Any

import typer

from openenv_core.settings import ServerSettings, SettingRow

__all__ = ["serve"]


def _option(entry: "dataclasses.Field[Any]", row: SettingRow) -> inspect.Parameter:
    """A command-line option for a setting; its environment variable counts where the option is not given."""
    read = entry.metadata["read"]

    def parse(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(f"{text!r}: {error}") from None

    # A line of its own for the variable, which is what a container sets.
    help_text = f"{row.meaning[0].upper()}{row.meaning[1:]} (default {row.default}).\n\n{row.variable}"
    kind: Any = type(entry.default)
    flags, shape = row.option, {"parser": parse, "metavar": {tuple: "list"}.get(kind, kind.__name__)}
    if kind is bool:
        flags, shape = f"{row.option}/--no-{row.option[2:]}", {}
    option: Any = typer.Option(flags, help=help_text, show_default=False, rich_help_panel=row.group, **shape)
    return inspect.Parameter(
        entry.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def serve(
    target: Annotated[str, typer.Argument(help="Name of an installed environment, module:object, or gym:ID.")],
    host: Annotated[str, typer.Option(envvar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="PORT", min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    log_level: Annotated[str, typer.Option(envvar="OPENENV_LOG_LEVEL", help="debug, info, warning or error.")] = "info",
    **settings: Any,
) -> None:
    """Serve an environment until it is told to stop (Ctrl-C, SIGTERM); running calls may finish first.

    The number of sessions is the environment's own default unless a setting gives it. The variable OPENENV_TOKEN
    makes the server ask every caller for that token; it has no option, since others can read a command line.
    """
    from openenv_core.errors import ConfigurationError
    from openenv_core.server.app import create_app_from_spec
    from openenv_core.server.runner import run
    from openenv_core.targets import resolve

    found = resolve(target)
    if found.url is not None:
        raise ConfigurationError(f"{target} is the address of a server; serve takes an environment")
    application = found.application
    if found.spec is not None:
        values = ServerSettings.from_environ(default_max_sessions=found.spec.max_sessions, **settings)
        application = create_app_from_spec(found.spec, values)
    sys.exit(run(application, host=host, port=port, log_level=log_level))


_own = [p for p in inspect.signature(serve).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
_settings = zip(dataclasses.fields(ServerSettings), ServerSettings.table(), strict=True)
# A secret has no option: a command line is for everybody on the machine to read.
_all = [*_own, *(_option(entry, row) for entry, row in _settings if row.option)]
serve.__signature__ = inspect.Signature(_all)  # type: ignore[attr-defined]
serve.__annotations__ = {parameter.name: parameter.annotation for parameter in _all}
