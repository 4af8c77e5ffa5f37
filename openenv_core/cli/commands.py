"""The commands, gathered. What a command needs is imported when it runs: ``openenv --help`` stays quick."""

from typing import Annotated

import typer

from openenv_core import __version__
from openenv_core.cli.build import build
from openenv_core.cli.check import check
from openenv_core.cli.demo import demo
from openenv_core.cli.doctor import doctor
from openenv_core.cli.eval import evaluate
from openenv_core.cli.init import init
from openenv_core.cli.install_browser import install_browser
from openenv_core.cli.list import list_environments
from openenv_core.cli.play import play
from openenv_core.cli.push import push
from openenv_core.cli.replay import replay
from openenv_core.cli.run import run
from openenv_core.cli.serve import serve
from openenv_core.cli.sessions import sessions
from openenv_core.cli.validate import validate

__all__ = ["app"]

app = typer.Typer(
    name="openenv",
    help="Host reinforcement-learning environments for language-model agents, and look after them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"openenv-core {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Host reinforcement-learning environments for language-model agents, and look after them."""


app.command("serve")(serve)
app.command("list")(list_environments)
app.command("demo")(demo)
app.command("check")(check)
app.command("play")(play)
app.command("replay")(replay)
app.command("eval")(evaluate)
app.command("sessions")(sessions)
app.command("install-browser")(install_browser)
app.command("build")(build)
app.command("run")(run)
app.command("push")(push)
app.command("init")(init)
app.command("validate")(validate)
app.command("doctor")(doctor)
