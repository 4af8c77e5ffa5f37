"""``openenv run``: an environment in a container."""

import json
import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openenv_core.errors import ConfigurationError

if TYPE_CHECKING:
    from openenv_core.packaging.project import Project
    from openenv_core.runtimes import DockerRuntime

__all__ = ["run"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDED = 1


def run(
    target: Annotated[
        str, typer.Argument(metavar="NAME|DIR|IMAGE", help="An environment, its folder, or the name of an image.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")] = 8000,
    variant: Annotated[str | None, typer.Option(help="A variant, wordle or sudoku say; `openenv list NAME`.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", "-e", metavar="K[=V]", help="Set a variable of the server, or hand on yours; repeatable."
        ),
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Most memory the container may have, 512m say.")] = None,
    cpus: Annotated[float | None, typer.Option(help="Most processors it may use.")] = None,
    network: Annotated[str | None, typer.Option(help="One of Docker's networks, by its name; host for no own.")] = None,
    start_limit: Annotated[float, typer.Option(help="The server must be ready within so many seconds.")] = 120.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON when it is ready, and no text.")
    ] = False,
) -> None:
    """Run an environment in a container until Ctrl-C: tells its address and how to connect once it is ready.

    The image of a NAME is called openenv-NAME and built first where there is none; `openenv build NAME` builds it
    anew. The container is reached from this machine alone, and removed in the end. With -e OPENENV_TOKEN the server
    asks every caller for the token in your variable of that name.

    Exit code 0: stopped by Ctrl-C or SIGTERM; 1: it did not start, or ended by itself.
    """
    from openenv_core.runtimes import DockerRuntime

    project = _project(target)
    variables = {**_variant(project, variant), **_variables(env or [])}
    image = _image(project, quiet=as_json) if project is not None else target
    runtime = DockerRuntime(
        image,
        env_vars=variables,
        port=port or None,
        network=network,
        memory=memory,
        cpus=cpus,
        start_limit_s=start_limit,
    )
    why = _until_stopped(runtime, token="OPENENV_TOKEN" in variables, as_json=as_json)
    raise typer.Exit(_ENDED if why is not None else 0)


def _until_stopped(runtime: "DockerRuntime", *, token: bool, as_json: bool) -> str | None:
    """Start the server, tell of it, and wait; why it ended by itself, ``None`` where it was stopped."""
    signal.signal(signal.SIGTERM, _interrupt)
    why = None
    try:
        if not as_json:
            typer.secho(f"starting {runtime.image} ...", err=True)
        runtime.start()
        _tell(runtime, token=token, as_json=as_json)
        while (why := runtime.why_ended()) is None:
            time.sleep(1.0)
        _tell_end(runtime, why)
    except KeyboardInterrupt:
        if not as_json:
            typer.secho("stopping ...", err=True)
    finally:
        runtime.stop()
    return why


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _project(target: str) -> "Project | None":
    """The environment's project, where the target is one; ``None``: it is the name of an image."""
    from openenv_core.packaging.project import find_project
    from openenv_core.targets import installed

    is_folder = Path(target).is_dir() and (
        target.startswith((".", os.sep)) or (Path(target) / "openenv.yaml").is_file()
    )
    return find_project(target) if is_folder or target in installed() else None


def _variant(project: "Project | None", variant: str | None) -> Mapping[str, str]:
    from openenv_core.cli.build import variables_of

    if project is None and variant is not None:
        raise ConfigurationError("an image has no variants that are known here; set its variables with -e")
    return variables_of(project, variant) if project is not None else {}


def _variables(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise ConfigurationError(f"--env takes NAME=VALUE or NAME, not {name!r}")
        if not equals and name not in os.environ:
            raise ConfigurationError(f"--env {name}: there is no such variable here to hand on")
        found[name] = value if equals else os.environ[name]
    return found


def _image(project: "Project", *, quiet: bool) -> str:
    """The image of an environment, built where the engine has none."""
    from openenv_core.cli.build import build_image
    from openenv_core.runtimes.building import default_tag
    from openenv_core.runtimes.engine import connect_engine, has_image

    name = default_tag(project.name)
    engine = connect_engine()
    try:
        there = has_image(engine, name)
    finally:
        engine.close()
    if not there:
        typer.secho(f"there is no image {name} yet: building it ...", err=True)
        build_image(project, None, None, plain=quiet)
    return name


def _tell(runtime: "DockerRuntime", *, token: bool, as_json: bool) -> None:
    from openenv_core.runtimes.readiness import is_ready

    labels, url = runtime.image_labels, runtime.base_url
    module, _, name = labels.get("openenv.client", "openenv_core:GenericEnvClient").partition(":")
    if as_json:
        told = {"url": url, "image": runtime.image, "container": runtime.container_id, "client": f"{module}:{name}"}
        print(json.dumps(told), flush=True)
        return
    print(f"\n{runtime.image} is ready at {url}\n")
    arguments = f'base_url="{url}"' + (', token=os.environ["OPENENV_TOKEN"]' if token else "")
    print(*(["    import os"] if token else []), f"    from {module} import {name}\n", sep="\n")
    print(f"    with {name}({arguments}) as env:\n        print(env.reset().observation)\n")
    if not token and is_ready(url, path="/web/"):
        print(f"page: {url}/web/")
    print(f"log: docker logs -f {runtime.container_id[:12]}     Ctrl-C stops it", flush=True)


def _tell_end(runtime: "DockerRuntime", why: str) -> None:
    from openenv_core.runtimes.readiness import last_lines

    written = last_lines(runtime.logs())
    log = f"the last of its log:\n{written}" if written else "its log is empty, or gone with the engine"
    typer.secho(f"error: the container of {runtime.image} {why}; {log}", fg="red", err=True)
