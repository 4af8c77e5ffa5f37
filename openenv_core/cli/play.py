"""``openenv play``: a person plays an environment in the terminal."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openenv_core.cli._options import endings, key_and_value

if TYPE_CHECKING:
    from openenv_core.cli._game import Table

__all__ = ["play"]

_IDLE = "86400"
"""Seconds that a server of our own waits for a player: a person may think, or have lunch."""


def play(
    target: Annotated[str, typer.Argument(help="Name of an installed environment, module:object, gym:ID, or a URL.")],
    seed: Annotated[
        int | None, typer.Option(min=0, help="Which game; the same seed is the same game. Default: any.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of reset; repeatable.")
    ] = None,
    variant: Annotated[
        str | None, typer.Option(help="A variant of the environment; openenv list NAME tells which there are.")
    ] = None,
) -> None:
    """Play an environment: see what an agent sees, type what it would do.

    An environment is served on a free port of 127.0.0.1 while it is played; a URL is played where it is. The variable
    OPENENV_TOKEN is the token of a server that asks for one. Lines may also come from a pipe.

    A value of an option is read as JSON where it is JSON, else as text: -o game_name=tic_tac_toe -o agent_player=1
    """
    import secrets

    options = dict(map(key_and_value, option or ()))
    first = seed if seed is not None else secrets.randbelow(100_000)
    with endings():
        _play(target, first, options, variant)


def _play(target: str, seed: int, options: Mapping[str, Any], variant: str | None) -> None:
    import os

    from rich.console import Console

    from openenv_core.cli._game import Game
    from openenv_core.client import GenericEnvClient

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - lines can be edited, and earlier ones called back
    console = Console(highlight=False)
    with _served(target, variant, console) as (url, spec, name):
        token = os.environ.get("OPENENV_TOKEN") or None
        table = _table(url, token, spec, name)
        with GenericEnvClient(base_url=url, token=token) as client:
            Game(client, table, console, seed, options).run()


@contextlib.contextmanager
def _served(target: str, variant: str | None, console: Any) -> Iterator[tuple[str, Any, str]]:
    """The address of the environment's server, what is installed of it, where that is known, and a name."""
    from openenv_core.errors import ConfigurationError
    from openenv_core.runtimes.process import ProcessRuntime
    from openenv_core.targets import resolve

    found = resolve(target)
    if found.url is not None:
        if variant is not None:
            raise ConfigurationError(f"--variant cannot change {target}, a server that runs already")
        yield found.url if "://" in found.url else f"http://{found.url}", None, ""
        return
    name = found.spec.name if found.spec is not None else target
    runtime = ProcessRuntime(
        _with_text(target), env_vars=_variant(found.spec, variant), arguments=["--idle-timeout", _IDLE]
    )
    with contextlib.ExitStack() as stack:
        with console.status(f"Starting {name} …"):
            stack.enter_context(runtime)
        yield runtime.base_url, found.spec, name


def _variant(spec: Any, variant: str | None) -> Mapping[str, str]:
    from openenv_core.errors import ConfigurationError

    if variant is None:
        return {}
    variants: Mapping[str, Mapping[str, str]] = (spec.variants if spec is not None else None) or {}
    if variant not in variants:
        raise ConfigurationError(f"there is no variant {variant!r}; there are: {', '.join(variants) or 'none'}")
    return variants[variant]


def _with_text(target: str) -> str:
    """A Gymnasium environment that can draw itself as text does so, for a terminal can show that."""
    if not target.startswith("gym:") or "?" in target:
        return target
    import gymnasium

    spec = gymnasium.spec(target.removeprefix("gym:"))
    entry = spec.entry_point
    creator = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    modes = getattr(creator, "metadata", {}).get("render_modes", ())
    return f"{target}?render_mode=ansi" if "ansi" in modes else target


def _table(url: str, token: str | None, spec: Any, name: str) -> "Table":
    """What the server tells of the environment, and how its author shows it, where that is installed here."""
    from openenv_core.cli._game import Table
    from openenv_core.rendering import Showing

    schema = dict(_fetched(url, "/schema", token)).get("action", {})
    about = spec.description if spec is not None else ""
    if not name:
        metadata = dict(_fetched(url, "/metadata", token))
        name, about = str(metadata.get("name", url)), str(metadata.get("description", ""))
        spec = _installed_as(_fetched(url, "/list_environments", token))
    return Table(name, about, url, schema, Showing() if spec is None else Showing.of(spec))


def _installed_as(names: Any) -> Any:
    """What is installed here of the environment that a server hosts."""
    from openenv_core.errors import ConfigurationError
    from openenv_core.targets import load_spec

    if not isinstance(names, list) or len(names) != 1:
        return None
    try:
        return load_spec(str(names[0]))
    except ConfigurationError:
        return None


def _fetched(url: str, path: str, token: str | None) -> Any:
    import httpx

    from openenv_core.client._base import is_loopback
    from openenv_core.errors import ConnectionFailedError, UnauthorizedError

    base = url.rstrip("/").removesuffix("/ws").replace("ws", "http", 1) if url.startswith("ws") else url.rstrip("/")
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    try:
        reply = httpx.get(base + path, headers=headers, timeout=10.0, trust_env=not is_loopback(base))
        if reply.status_code in (401, 403):
            raise UnauthorizedError(f"{base} answers {reply.status_code}: set OPENENV_TOKEN to the server's token")
        document = reply.raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise ConnectionFailedError(f"{base} does not answer as an environment server does: {error}") from error
    return document if isinstance(document, dict | list) else {}
