"""``openenv eval``: let a model play an environment and say how well it does."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from openenv_core.training.evaluation import ChatModel, Evaluation, PlayedEpisode

__all__ = ["evaluate"]

_LISTED = 40
"""So many episodes are listed one by one; of more only the figures are told."""


_Target = Annotated[str, typer.Argument(help="Name of an installed environment, or the URL of a server.")]
_Model = Annotated[
    str,
    typer.Option(
        metavar="PATH|NAME|URL",
        help="Folder or name of a model for Transformers, or the address of an OpenAI-compatible API, "
        "for example http://127.0.0.1:8000/v1.",
    ),
]
_ModelName = Annotated[
    str | None, typer.Option(help="Name of the model at the API. Default: the first one that it lists.")
]
_Tools = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        help="Which tools the model has: a class of the client's, or module:Class. Default: the client's, else those "
        "that the server offers.",
    ),
]
_Argument = Annotated[
    list[str] | None,
    typer.Option("--argument", "-a", metavar="KEY=VALUE", help="An argument of the tools' class; repeatable."),
]
_Option = Annotated[
    list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of reset; repeatable.")
]
_Episodes = Annotated[int, typer.Option(min=1, help="Number of episodes, each with a seed of its own.")]
_Seed = Annotated[int, typer.Option(min=0, help="First seed; the next episodes have the next numbers.")]
_Concurrency = Annotated[int, typer.Option(min=1, help="Episodes at a time.")]
_MaxTurns = Annotated[int, typer.Option(min=1, help="An episode ends after so many answers of the model.")]
_Prompt = Annotated[str | None, typer.Option(help="What the model is told. Default: the tools' own prompt.")]
_Temperature = Annotated[float, typer.Option(min=0, help="Of sampling; 0 for the likeliest answer.")]
_MaxTokens = Annotated[int | None, typer.Option(min=1, help="Limit of one answer.")]
_Timeout = Annotated[float, typer.Option(help="Limit of one answer of an API, in seconds.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
_Transcripts = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Write each episode's conversation there, as JSON.")
]


def evaluate(
    target: _Target,
    model: _Model,
    model_name: _ModelName = None,
    tools: _Tools = None,
    argument: _Argument = None,
    option: _Option = None,
    episodes: _Episodes = 20,
    seed: _Seed = 0,
    concurrency: _Concurrency = 8,
    max_turns: _MaxTurns = 30,
    prompt: _Prompt = None,
    temperature: _Temperature = 0.0,
    max_tokens: _MaxTokens = None,
    timeout: _Timeout = 120.0,
    as_json: _AsJson = False,
    transcripts: _Transcripts = None,
) -> None:
    """Evaluate a model on an environment with tools.

    The model plays one episode for each seed. An environment is served on a free port of 127.0.0.1 for that; a URL is
    played where it is. A fault of a server or of the API takes an episode out of the figures; it never counts as 0.

    The variable OPENAI_API_KEY is the key of an API, OPENENV_TOKEN the token of an environment's server. A local model
    needs the extra `training`, an API needs nothing.

    openenv eval openspiel_env --model http://127.0.0.1:8000/v1 --episodes 50

    openenv eval textarena_env --tools WordleTools --model ./my-model --transcripts games

    Exit code 0: at least one episode counts; 1: none does.
    """
    sampling = {"temperature": temperature, "max_tokens": max_tokens}
    play = {
        "seeds": range(seed, seed + episodes),
        "concurrency": min(concurrency, episodes),
        "max_turns": max_turns,
        "prompt": prompt,
    }
    found, named = _evaluate(target, tools, (model, model_name, timeout, sampling), argument or (), option or (), play)
    if transcripts is not None:
        _write(found, transcripts)
    if as_json:
        print(json.dumps({"target": target, **named, **found.to_json()}))
    else:
        _print_table(found, f"{target}, {named['tools']}, {named['model']}")
    raise typer.Exit(0 if found.counted else 1)


def _evaluate(
    target: str, name: str | None, wanted: Any, arguments: Sequence[str], options: Sequence[str], play: dict[str, Any]
) -> "tuple[Evaluation, dict[str, str]]":
    import os

    from openenv_core.cli._options import endings, key_and_value
    from openenv_core.training import environment_factory
    from openenv_core.training.evaluation import evaluate as evaluate_model

    _require_model(wanted[0])
    with endings(), contextlib.ExitStack() as stack:
        tools, url = _tools_and_url(target, name, play["concurrency"], stack)
        model = _model(*wanted)
        given = dict(map(key_and_value, arguments))
        if token := os.environ.get("OPENENV_TOKEN"):
            given["token"] = token
        factory = environment_factory(tools, url, rollouts=play["concurrency"], **given)
        report = stack.enter_context(_progress(len(play["seeds"])))
        found = evaluate_model(factory, model, options=dict(map(key_and_value, options)), report=report, **play)
    return found, {"tools": tools.__name__, "model": str(getattr(model, "name", ""))}


def _require_model(place: str) -> None:
    """Refuse what cannot be a model before a server is started for it.

    Raises:
        ConfigurationError: neither an address nor a folder of this machine, nor one in the cache of the Hub.
    """
    import os

    from openenv_core.errors import ConfigurationError

    if "://" in place or Path(place).is_dir():
        return
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))
    # A name of the Hub is OWNER/NAME, and can be loaded from there; a bare one is known where it has been before.
    is_name = place.count("/") == 1 and not place.startswith((".", "/", "~"))
    if not is_name and not (cache / f"models--{place}").is_dir():
        raise ConfigurationError(
            f"--model {place} is neither a URL, a folder of this machine, nor OWNER/NAME of a model on the Hub"
        )


def _model(place: str, name: str | None, timeout_s: float, sampling: Mapping[str, Any]) -> "ChatModel":
    import os

    from openenv_core.training.models import ApiModel, LocalModel

    if "://" in place:
        key = os.environ.get("OPENAI_API_KEY") or None
        return ApiModel(place, name, key=key, timeout_s=timeout_s, **sampling)
    return LocalModel(place, **sampling)


def _tools_and_url(target: str, name: str | None, sessions: int, stack: contextlib.ExitStack) -> tuple[Any, str]:
    """The tools' class, and the address of the environment's server, which is started where none is given."""
    import os

    from openenv_core.errors import ConfigurationError
    from openenv_core.runtimes.process import ProcessRuntime
    from openenv_core.targets import resolve
    from openenv_core.training.finding import find_tools, has_tools
    from openenv_core.training.served_tools import served_tools

    found = resolve(target)
    if found.url is None and found.spec is None:
        raise ConfigurationError(f"{target} is an application: serve it, and give its URL")
    url = "" if found.url is None else found.url if "://" in found.url else f"http://{found.url}"
    package = _name_of(url) if found.spec is None else found.spec.client.partition(":")[0]
    tools = find_tools(package, name) if name is not None or has_tools(package) else None
    if not url:
        variables = tools.server_variables if tools is not None else {}
        arguments = ["--max-sessions", str(sessions + 1)]
        url = stack.enter_context(ProcessRuntime(target, env_vars=variables, arguments=arguments)).base_url
    return tools or served_tools(url, token=os.environ.get("OPENENV_TOKEN") or None), url


def _name_of(url: str) -> str:
    """The name of the environment of a server; its client's package has the same. Empty where the server tells none."""
    import os

    from openenv_core.client import GenericEnvClient

    with GenericEnvClient(base_url=url, token=os.environ.get("OPENENV_TOKEN") or None) as client:
        return client.hello.env_name if client.hello is not None else ""


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Any]:
    """Shows how far it is, on the error stream; gives what is called after each episode."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    solved = faulty = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("playing", total=total)

        def report(played: "PlayedEpisode") -> None:
            nonlocal solved, faulty
            solved += bool(played.success)
            faulty += played.fault is not None
            told = f"{solved} solved" + (f", {faulty} faulty" if faulty else "")
            progress.update(task, advance=1, description=told)

        yield report


def _write(found: "Evaluation", folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for episode in found.episodes:
        text = json.dumps(episode.to_json(transcript=True), indent=1, ensure_ascii=False)
        (folder / f"seed-{episode.seed}.json").write_text(text, encoding="utf-8")


def _print_table(found: "Evaluation", title: str) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from openenv_core.cli._tables import print_table

    console = Console()
    if len(found.episodes) <= _LISTED:
        table = Table("seed", "reward", "solved", "steps", "invalid", "turns", "end", title=escape(title))
        for episode in found.episodes:
            end = "environment" if episode.finished else "model, or limit of turns"
            if episode.fault is not None:
                end = f"[red]{escape(episode.fault.reason)}: {escape(episode.fault.message[:200])}[/]"
            table.add_row(
                str(episode.seed),
                "-" if episode.reward is None else f"{episode.reward:g}",
                {True: "[green]yes[/]", False: "no", None: "-"}[episode.success],
                *map(str, (episode.steps, episode.invalid_actions, episode.turns)),
                end,
            )
        print_table(table)
    figures = Table(title=None if len(found.episodes) <= _LISTED else escape(title), show_header=False)
    for name, value in found.summary().items():
        shown = "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
        figures.add_row(name.replace("_", " "), shown)
    print_table(figures)
    if found.summary()["faults"]:
        console.print("[red]Faulty episodes are left out of the figures.[/]")
