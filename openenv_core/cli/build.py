"""``openenv build``: the image of an environment."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openenv_core.errors import ConfigurationError, OpenEnvError

if TYPE_CHECKING:
    from openenv_core.packaging.project import Project
    from openenv_core.runtimes.building import Builder

__all__ = ["build", "build_image", "variables_of"]


def build(
    target: Annotated[
        str, typer.Argument(metavar="NAME|DIR", help="An environment installed from its folder, or the folder itself.")
    ],
    tag: Annotated[
        str | None, typer.Option("--tag", "-t", help="Name of the image; default: openenv-NAME, or openenv-VARIANT.")
    ] = None,
    variant: Annotated[str | None, typer.Option(help="A variant, wordle or sudoku say; `openenv list NAME`.")] = None,
    platform: Annotated[
        str | None, typer.Option(help="linux/amd64 or linux/arm64; both, with a comma, take --push and buildx.")
    ] = None,
    push: Annotated[
        bool, typer.Option("--push", help="Push the image to the registry that its name begins with.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Build anew what was built before.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in the end; the progress goes to stderr.")
    ] = False,
) -> None:
    """Build the container image of an environment from its Dockerfile, with the docker command of this machine.

    `openenv run NAME` then runs it. The folder that the build sees is the nearest, from the Dockerfile's own upwards,
    that has everything the Dockerfile copies: the whole repository for an environment of a repository, the project's
    own folder for one that `openenv init` has made.

    Exit code 0: built; 1: not, with the reason.
    """
    from openenv_core.packaging.project import find_project

    project = find_project(target)
    told = build_image(project, tag, variant, platform=platform, push=push, cache=not no_cache, plain=as_json)
    if as_json:
        print(json.dumps(told))
        return
    size = f", {told['size_mb']} MB" if told["size_mb"] else ""
    print(f"built {told['image']}{size}, in {told['seconds']} s")
    print(f"run it: openenv run {told['image']}" if not push else f"pushed: {told['image']}")


def build_image(
    project: "Project",
    tag: str | None,
    variant: str | None,
    *,
    platform: str | None = None,
    push: bool = False,
    cache: bool = True,
    plain: bool = False,
) -> dict[str, Any]:
    """Build, and tell of it: the image's name and id, its size in MB, the seconds that it took.

    Raises:
        ConfigurationError: there is no Dockerfile, no docker command, or no such variant.
        OpenEnvError: the build failed; the message holds the end of what it wrote, where nobody has seen it.
    """
    from openenv_core.packaging.recipes import with_variables
    from openenv_core.runtimes.building import default_tag, find_builder, find_context

    dockerfile = project.folder / "Dockerfile"
    if not dockerfile.is_file():
        raise ConfigurationError(f"there is no Dockerfile in {project.folder}")
    builder = find_builder()
    name = tag or default_tag(variant or project.name)
    text = with_variables(dockerfile.read_text(), variables_of(project, variant))
    command = builder.build_command(
        find_context(dockerfile),
        name,
        build_arguments=_facts(project),
        platform=platform,
        push=push,
        plain=plain or not sys.stderr.isatty(),
        cache=cache,
    )
    began = time.monotonic()
    _run(builder, command, text)
    if push and "--push" not in command:
        _run(builder, [builder.program, "push", name], "")
    return {"image": name, **_look_at(builder, name), "seconds": round(time.monotonic() - began, 1), "pushed": push}


def variables_of(project: "Project", variant: str | None) -> Mapping[str, str]:
    """What a variant sets.

    Raises:
        ConfigurationError: there is no such variant; the message lists those that there are.
    """
    if variant is None:
        return {}
    from openenv_core.targets import load_spec

    variants = load_spec(project.name).variants or {}
    if variant not in variants:
        raise ConfigurationError(
            f"{project.name} has no variant {variant!r}; there are: {', '.join(variants) or 'none'}"
        )
    return variants[variant]


def _facts(project: "Project") -> dict[str, str]:
    """What the image's labels tell: version, revision and time."""
    facts = {"VERSION": project.server.version, "CREATED": datetime.now(UTC).isoformat(timespec="seconds")}
    revision = _output(["git", "-C", str(project.folder), "rev-parse", "HEAD"])
    return {**facts, **({"REVISION": revision} if revision else {})}


def _run(builder: "Builder", command: list[str], text: str) -> None:
    """Run a command; all that it tells goes to stderr, since stdout is for the result.

    Raises:
        OpenEnvError: it failed.
    """
    done = subprocess.run(command, input=text, text=True, stdout=sys.stderr, env=builder.environ, check=False)
    if done.returncode != 0:
        raise OpenEnvError(f"{Path(command[0]).name} {command[1]} failed with exit code {done.returncode}; see above")


def _look_at(builder: "Builder", name: str) -> dict[str, Any]:
    """The image's id and size; nothing of one that went straight to a registry."""
    answer = _output([builder.program, "image", "inspect", "--format", "{{.Id}} {{.Size}}", name])
    image_id, _, size = answer.partition(" ")
    return {"id": image_id, "size_mb": round(int(size) / 1e6) if size.isdigit() else 0}


def _output(command: list[str]) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""
