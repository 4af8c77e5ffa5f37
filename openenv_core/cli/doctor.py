"""``openenv doctor``: what works on this machine, and how to mend what does not."""

from typing import Annotated

import typer

__all__ = ["doctor"]


def doctor(
    port: Annotated[
        int, typer.Option(envvar="PORT", min=0, max=65535, help="The port on which a server is to listen.")
    ] = 8000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Look this machine over: Python, extras, environments, container engine, browser, Hub login, port.

    Nothing is changed, installed or started. Exit code 0: no error, though there may be warnings; 1: an error.
    """
    from openenv_core.cli._findings import conclude
    from openenv_core.packaging.doctor import examine

    conclude("this machine", list(examine(port)), in_json=as_json)
