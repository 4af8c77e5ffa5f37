"""``openenv validate``: a project, or a server that runs, in one report."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openenv_core.packaging.findings import Finding
    from openenv_core.packaging.project import Project

__all__ = ["validate"]

_CANNOT_BE_VALIDATED = 2
_URL = re.compile(r"\w+://.*|[\w.\-]+:\d+/?")


def validate(
    target: Annotated[
        str, typer.Argument(metavar="DIR|NAME|URL", help="A project's folder, an environment installed from it, a URL.")
    ] = ".",
    image: Annotated[
        bool | None,
        typer.Option("--image/--no-image", help="Build and run the image; default: where a container engine answers."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A warning counts as an error.")] = False,
    seed: Annotated[int, typer.Option(help="First seed that is played.")] = 0,
    episodes: Annotated[int, typer.Option(help="Number of seeds that are played.")] = 3,
    timeout: Annotated[float, typer.Option(help="Limit of one call, in seconds.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Validate an environment before it is published: manifest, card, packages, image, and what it promises.

    A project is read, loaded where it is installed, checked as `openenv check` does, and its image is built, started
    and checked as well. Of a URL only what it serves can be seen. OPENENV_TOKEN is the token of a server that asks.

    Exit code 0: no error; 1: an error; 2: there is nothing to validate.
    """
    import logging
    import os

    from openenv_core.cli._findings import conclude
    from openenv_core.errors import ConfigurationError

    logging.getLogger().addHandler(logging.NullHandler())  # what the checks provoke is no news
    token = os.environ.get("OPENENV_TOKEN") or None
    options = {"seed": seed, "episodes": episodes, "timeout_s": timeout, "token": token}
    try:
        findings = list(_findings(target, options, image))
    except ConfigurationError as error:
        typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
        raise typer.Exit(_CANNOT_BE_VALIDATED) from error
    conclude(target, findings, in_json=as_json, strict=strict)


def _findings(target: str, options: dict[str, Any], image: bool | None) -> "Iterator[Finding]":
    from openenv_core.packaging.project import find_project
    from openenv_core.packaging.validation import validate_project, validate_server

    if _URL.fullmatch(target) and not Path(target).exists():
        return validate_server(target if "://" in target else f"http://{target}", options)
    build = _build if image or (image is None and _has_engine()) else None
    project = find_project(target)
    return validate_project(project, options, build=build, report=lambda line: typer.secho(line, dim=True, err=True))


def _has_engine() -> bool:
    from openenv_core.errors import ConfigurationError
    from openenv_core.runtimes.engine import connect_engine

    try:
        connect_engine().close()
    except ConfigurationError:
        return False
    return True


def _build(project: "Project") -> str:
    from openenv_core.cli.build import build_image

    return str(build_image(project, None, None, plain=True)["image"])
