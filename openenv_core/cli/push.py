"""``openenv push``: an environment as a Hugging Face Space."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openenv_core.errors import ConfigurationError

if TYPE_CHECKING:
    from openenv_core.packaging.hub import Hub
    from openenv_core.packaging.space import SpaceOptions, SpacePlan

__all__ = ["push"]

_REFUSED = 1
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


Target = Annotated[
    str, typer.Argument(metavar="NAME|DIR", help="An environment installed from its folder, or the folder itself.")
]
RepoId = Annotated[
    str | None, typer.Option(help="The Space, as OWNER/NAME or NAME; default: your own, called like the environment.")
]
Private = Annotated[bool, typer.Option("--private", help="Make a new Space private.")]
Variant = Annotated[str | None, typer.Option(help="A variant, wordle or sudoku say; `openenv list NAME`.")]
Env = Annotated[
    list[str] | None, typer.Option(metavar="K=V", help="Set an environment variable of the Space; repeatable.")
]
Secret = Annotated[
    list[str] | None,
    typer.Option(metavar="K", help="Set a secret of the Space, from your own environment variable K; repeatable."),
]
Hardware = Annotated[str | None, typer.Option(help="Hardware of the Space, cpu-basic say.")]
Core = Annotated[
    str, typer.Option(help="The framework comes as a wheel in the Space (bundle), from the index, or from git+URL.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Leave files out, as in .gitignore; repeatable.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be pushed, and push nothing.")]
Output = Annotated[Path | None, typer.Option(metavar="DIR", help="With --dry-run: write the Space's folder here.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@dataclass(frozen=True)
class _Wishes:
    """What is to be done with the Space, beside its files.

    Attributes:
        private: for a new Space.
        variables, secrets: of the Space.
        hardware: to request.
        dry_run, output: push nothing; write the folder there.
    """

    private: bool
    variables: Mapping[str, str]
    secrets: Mapping[str, str]
    hardware: str | None
    dry_run: bool
    output: Path | None


def push(
    target: Target,
    repo_id: RepoId = None,
    private: Private = False,
    variant: Variant = None,
    env: Env = None,
    secret: Secret = None,
    hardware: Hardware = None,
    core: Core = "bundle",
    exclude: Exclude = None,
    dry_run: DryRun = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Push an environment to a Hugging Face Space: page, server and client.

    The Space is complete by itself. `pip install git+https://huggingface.co/spaces/OWNER/NAME` gives its typed client,
    and its Dockerfile builds the server anywhere. Secrets and large files are refused; what .gitignore or
    .dockerignore name, caches and virtual environments stay behind.

    Log in first with `hf auth login`, or set HF_TOKEN. Exit code 0: pushed; 1: refused, with the reason.
    """
    from openenv_core.cli.build import variables_of
    from openenv_core.packaging.hub import Hub
    from openenv_core.packaging.project import find_project
    from openenv_core.packaging.space import SpaceOptions, plan_space

    if output is not None and not dry_run:
        raise ConfigurationError("--output writes the folder of a --dry-run; a push writes to the Hub")
    project = find_project(target)
    variables = {**project.manifest.variables, **_pairs(env or [])}
    secrets = {name: _secret(name) for name in secret or []}
    # What is wrong here is told before anybody has to log in.
    chosen = variables_of(project, variant)
    hub = Hub()
    repo_id = hub.repo_id(repo_id, variant or project.name)
    options = SpaceOptions(repo_id, hub.endpoint, core, variant, chosen, tuple(exclude or ()))
    plan = plan_space(project, options)
    _refuse_values(plan, secrets)
    wishes = _Wishes(private, variables, secrets, hardware, dry_run, output)
    _carry_out(hub, plan, options, wishes, as_json=as_json)


def _carry_out(hub: "Hub", plan: "SpacePlan", options: "SpaceOptions", wishes: _Wishes, *, as_json: bool) -> None:
    """Show the plan, and do what is wished for."""
    told = {
        "repo_id": options.repo_id,
        "url": options.url,
        "variables": wishes.variables,
        "secrets": sorted(wishes.secrets),
    }
    if not as_json:
        _print_plan(plan, told)
    if plan.refused:
        _print_refused(plan)
        if as_json:
            print(json.dumps({**_as_json(plan, told), "pushed": False}))
        raise typer.Exit(_REFUSED)
    done = _dry_run(plan, wishes.output) if wishes.dry_run else _push(hub, plan, options, wishes)
    if as_json:
        print(json.dumps({**_as_json(plan, told), **done}))
    else:
        _print_done(done, options, wishes.private)


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise ConfigurationError(f"--env takes NAME=VALUE, not {text!r}")
        pairs[name] = value
    return pairs


def _secret(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ConfigurationError(
            f"--secret takes the name of an environment variable of yours, not {name.partition('=')[0]}=…: "
            "everybody on this machine can read a command line"
        )
    if not os.environ.get(name):
        raise ConfigurationError(f"--secret {name}: the environment variable {name} is not set here")
    return os.environ[name]


def _refuse_values(plan: "SpacePlan", secrets: Mapping[str, str]) -> None:
    """A secret that is set in the Space must not stand in its files as well."""
    for name, content in plan.files.items():
        data = content.read_bytes() if isinstance(content, Path) else content.encode()
        for secret, value in secrets.items():
            if value.encode() in data:
                plan.refused[name] = f"it holds the value of the secret {secret}"


def _dry_run(plan: "SpacePlan", output: Path | None) -> dict[str, Any]:
    from openenv_core.packaging.space import write_space

    if output is not None:
        write_space(plan, output)
    return {"pushed": False, "output": str(output) if output is not None else None}


def _push(hub: "Hub", plan: "SpacePlan", options: "SpaceOptions", wishes: _Wishes) -> dict[str, Any]:
    from openenv_core.packaging.space import write_space

    with tempfile.TemporaryDirectory(prefix="openenv-push-") as made:
        folder = Path(made) / "space"
        write_space(plan, folder)
        pushed = hub.push(
            folder,
            options.repo_id,
            private=wishes.private,
            variables=wishes.variables,
            secrets=wishes.secrets,
            hardware=wishes.hardware,
            report=lambda line: typer.secho(line, dim=True, err=True),
        )
    return {"pushed": True, "commit": pushed.commit, "removed": list(pushed.removed)}


def _as_json(plan: "SpacePlan", told: Mapping[str, Any]) -> dict[str, Any]:
    from openenv_core.packaging.space import wheel_path

    files = {name: plan.size_of(name) for name in plan.files}
    wheel = {wheel_path(): None} if plan.with_wheel else {}
    return {**told, "files": {**files, **wheel}, "left": plan.left, "refused": plan.refused}


def _print_plan(plan: "SpacePlan", told: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.filesize import decimal
    from rich.table import Table
    from rich.text import Text

    from openenv_core.cli._tables import print_table
    from openenv_core.packaging.space import wheel_path

    console = Console(highlight=False)
    table = Table("file", "bytes", title=f"Space {told['repo_id']}")
    for name in plan.files:
        table.add_row(Text(name), decimal(plan.size_of(name)))
    if plan.with_wheel:
        table.add_row(Text(wheel_path()), "the framework")
    print_table(table)
    if plan.left:
        names = ", ".join(f"{name} ({reason})" for name, reason in plan.left.items())
        console.print(Text(f"stays behind: {names}", "dim"))
    for name, value in told["variables"].items():
        console.print(Text(f"variable {name}={value}"))
    for name in told["secrets"]:
        console.print(Text(f"secret {name}"))


def _print_refused(plan: "SpacePlan") -> None:
    for name, reason in plan.refused.items():
        typer.secho(f"refused: {name}: {reason}", fg=typer.colors.RED, err=True)
    typer.secho("Remove it, or name it in .gitignore or --exclude; nothing was pushed.", err=True)


def _print_done(done: Mapping[str, Any], options: "SpaceOptions", private: bool) -> None:
    from openenv_core.packaging.card import space_host

    if done["pushed"]:
        print(f"pushed: {options.url}")
        print(f"when it is built: https://{space_host(options.repo_id)}/web")
        print(f"its client: {_client_install(options, private)}")
    elif done["output"] is not None:
        print(f"written to {done['output']}; nothing was pushed")
        # A bare name would be one of the package index to pip.
        folder = os.path.join(os.curdir, done["output"])
        print(f"its client: {_folder_install(options, folder)}")
        print(f"its image: docker build {folder}")
    else:
        print("nothing was pushed; --output DIR writes the folder")


def _client_install(options: "SpaceOptions", private: bool) -> str:
    if private and options.core == "bundle":
        # pip has no token of the Hub for the wheel that the client requires by its address.
        return f"git clone {options.url}, and there: pip install wheels/*.whl && pip install --no-deps ."
    return f"pip install git+{options.url}"


def _folder_install(options: "SpaceOptions", folder: str) -> str:
    if options.core == "bundle":
        # The address of the framework's wheel is where it will be after a push.
        return f"pip install {folder}/wheels/*.whl && pip install --no-deps {folder}"
    return f"pip install {folder}"
