"""``openenv init``: a new environment's project."""

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["init"]


def init(
    name: Annotated[str, typer.Argument(help="Name of the environment and of its package, chess_env say.")],
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="gym:ID starts from an environment of Gymnasium; function:module:name makes a function a tool, and is "
            "repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Make the project's folder in here.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Make a project that works: models, environment, client, tests, container, Space, continuous integration.

    Its `make test` passes as it is, and so do `openenv check NAME` and `openenv validate DIR`. The framework comes with
    it as a wheel, so it needs nothing that is not on the package index.

    Exit code 0: made; 1: not, and nothing is left behind.
    """
    from openenv_core.packaging.scaffold import create_project

    folder = create_project(name, output, sources or [])
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if as_json:
        print(json.dumps({"name": name, "folder": str(folder), "files": files}))
        return
    print(f"made {folder}, {len(files)} files")
    print(f"the environment: {folder}/server/{name}_server/environment.py")
    print(f"what is said:    {folder}/{name}/models.py")
    print(f"next:            cd {folder} && make test && make serve")
