"""Clients by name: of what is installed, and of Spaces of the Hub.

A distribution names its client in the entry point group ``openenv.clients``; nothing is guessed from names of modules
or classes, and nothing is remembered between programs. Code of a Space is installed only where the caller says that it
is trusted, and which commit of it.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import invalidate_caches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from openenv_core.client.generic import GenericAction, GenericEnvClient
from openenv_core.client.sync import EnvClient
from openenv_core.errors import ConfigurationError

__all__ = ["AutoAction", "AutoEnv"]

_GROUP = "openenv.clients"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_INSTALL_LIMIT_S = 600.0
_YES = frozenset({"1", "true", "yes"})


class AutoEnv:
    """Finds the client of an environment by its name. It has no instances."""

    def __init__(self) -> None:
        raise TypeError("AutoEnv has no instances: AutoEnv.from_env('echo_env', base_url=...)")

    @classmethod
    def from_env(
        cls,
        name: str,
        base_url: str | None = None,
        docker_image: str | None = None,
        container_provider: Any = None,
        wait_timeout: float = 120.0,
        env_vars: Mapping[str, str] | None = None,
        trust_remote_code: bool = False,
        skip_install: bool = False,
        *,
        revision: str | None = None,
        **options: Any,
    ) -> EnvClient[Any, Any, Any]:
        """A client of an installed environment, or of a Space.

        Args:
            name: of an installed client, ``echo_env`` or ``echo`` say, or ``owner/name`` of a Space.
            base_url: of a server that runs. Without it a Space is used where it runs, and of anything else an image is
                started.
            docker_image: the image to start; default: ``openenv-NAME``.
            container_provider: what starts it; default: the local Docker engine.
            wait_timeout: the container, or the Space, must be ready within so many seconds.
            env_vars: environment variables of the container.
            trust_remote_code: the client of a Space may be installed here; ``OPENENV_TRUST_REMOTE_CODE=1`` says so too.
            skip_install: use the Space without its client: actions and observations are dicts.
            revision: the commit of the Space that is trusted, with all of its 40 digits.
            **options: for the client's constructor: ``headers``, ``message_timeout_s`` and so on.

        Raises:
            ConfigurationError: no such client is installed; or a Space's code would be needed and is not trusted.
        """
        if _is_space(name):
            found = _space_client(name, trust_remote_code, skip_install, revision)
            if base_url is None:
                return found.from_space(_repo_id(name), start_limit_s=wait_timeout, **options).sync()
            return found(base_url=base_url, **options)
        found = GenericEnvClient if skip_install else cls.get_env_class(name)
        if base_url is not None:
            return found(base_url=base_url, **options)
        return found.from_docker_image(
            docker_image or _default_image(_entry(name).name),
            container_provider,
            env_vars=env_vars,
            start_limit_s=wait_timeout,
            **options,
        ).sync()

    from_hub = from_env

    @classmethod
    def get_env_class(cls, name: str) -> type[EnvClient[Any, Any, Any]]:
        """The client class of an installed environment.

        Raises:
            ConfigurationError: none is installed, or it does not import; the message names those that are there.
        """
        return _load(_entry(name))

    @classmethod
    def get_env_info(cls, name: str) -> dict[str, Any]:
        """What is known of an installed environment: its client, models, distribution and version."""
        entry = _entry(name)
        found = _load(entry)
        about: Any = entry.dist.metadata if entry.dist is not None else {}
        return {
            "env_key": entry.name,
            "name": entry.name,
            "package": about["Name"] if about else "",
            "version": about["Version"] if about else "",
            "description": about["Summary"] if about else "",
            "env_class": found.__name__,
            "action_class": _name(found.action_type),
            "observation_class": _name(found.observation_type),
            "module": entry.module,
            "default_image": _default_image(entry.name),
        }

    @classmethod
    def list_environments(cls) -> None:
        """Print the installed clients."""
        for name, entry in _installed().items():
            version = entry.dist.version if entry.dist is not None else ""
            sys.stdout.write(f"{name:24}{version:16}{entry.value}\n")


class AutoAction:
    """Finds the action class of an environment by its name. It has no instances."""

    def __init__(self) -> None:
        raise TypeError("AutoAction has no instances: AutoAction.from_env('echo_env') gives a class")

    @classmethod
    def from_env(
        cls, name: str, skip_install: bool = False, *, trust_remote_code: bool = False, revision: str | None = None
    ) -> Any:
        """The action class of an installed environment, or of a Space, as :meth:`AutoEnv.from_env` finds it.

        ``skip_install`` gives :class:`GenericAction`, which takes any fields.
        """
        if skip_install:
            return GenericAction
        if _is_space(name):
            return _space_client(name, trust_remote_code, skip_install, revision).action_type
        return AutoEnv.get_env_class(name).action_type

    from_hub = from_env

    @classmethod
    def get_action_info(cls, name: str) -> dict[str, Any]:
        """The action class of an installed environment, and its fields as a JSON schema."""
        from pydantic import TypeAdapter

        found = AutoEnv.get_env_class(name).action_type
        return {"name": name, "action_class": _name(found), "schema": TypeAdapter(found).json_schema()}

    @classmethod
    def list_actions(cls) -> None:
        """Print the action classes of the installed clients."""
        for name in _installed():
            sys.stdout.write(f"{name:24}{_name(AutoEnv.get_env_class(name).action_type)}\n")


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=_GROUP), key=lambda entry: entry.name)}


def _entry(name: str) -> EntryPoint:
    """The installed client of a name, which may lack its ``_env`` and have hyphens."""
    found = _installed()
    plain = name.lower().replace("-", "_")
    for candidate in (name, plain, f"{plain}_env"):
        if candidate in found:
            return found[candidate]
    close = get_close_matches(plain, found, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"installed are: {', '.join(found) or 'none'}"
    raise ConfigurationError(f"no client of an environment {name!r} is installed; {hint}")


def _load(entry: EntryPoint) -> type[EnvClient[Any, Any, Any]]:
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"client {entry.name!r} is installed but does not import: {error}") from error
    if not (isinstance(found, type) and issubclass(found, EnvClient)):
        raise ConfigurationError(f"client {entry.name!r}: {entry.value} is not a subclass of EnvClient")
    return found


def _default_image(name: str) -> str:
    return f"openenv-{name.removesuffix('_env').replace('_', '-')}"


def _name(model: Any) -> str:
    members = get_args(model)
    return " | ".join(map(_name, members)) if members else str(getattr(model, "__name__", model))


def _is_space(name: str) -> bool:
    return "/" in name


def _repo_id(name: str) -> str:
    found = re.fullmatch(r"(?:https?://[^/]+/spaces/)?([\w.\-]+/[\w.\-]+?)/?", name)
    if found is None:
        raise ConfigurationError(f"{name!r} is no name of a Space; it is OWNER/NAME")
    return found.group(1)


def _space_client(
    name: str, trust_remote_code: bool, skip_install: bool, revision: str | None
) -> type[EnvClient[Any, Any, Any]]:
    """The client class of a Space: the one that is installed from it, or else from the commit that is trusted."""
    if skip_install:
        return GenericEnvClient
    from openenv_core.runtimes.space import hub_address

    url = f"{hub_address()}/spaces/{_repo_id(name)}"
    entry = _installed_from(url, revision)
    if entry is None:
        trusted = trust_remote_code or os.environ.get("OPENENV_TRUST_REMOTE_CODE", "").lower() in _YES
        if not trusted or revision is None or not _COMMIT.fullmatch(revision):
            raise ConfigurationError(
                f"the client of {name} is code of a Space, and not installed here. Read it, then give "
                "trust_remote_code=True and revision='<the commit, 40 digits>'; or use the Space without its client: "
                "skip_install=True"
            )
        _install(f"git+{url}@{revision}")
        entry = _installed_from(url, revision)
    if entry is None:
        raise ConfigurationError(f"the Space {name} is installed, but it names no client (entry points {_GROUP})")
    return _load(entry)


def _installed_from(url: str, revision: str | None) -> EntryPoint | None:
    """The client that pip has installed from a repository; from that commit, where one is given."""
    for entry in _installed().values():
        text = entry.dist.read_text("direct_url.json") if entry.dist is not None else None
        origin = json.loads(text) if text else {}
        commit = origin.get("vcs_info", {}).get("commit_id")
        if origin.get("url", "").rstrip("/") == url and (revision is None or commit == revision):
            return entry
    return None


def _install(requirement: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ConfigurationError(f"installing {requirement} took longer than {_INSTALL_LIMIT_S:g} s") from None
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise ConfigurationError(f"{requirement} cannot be installed:\n{last}")
    invalidate_caches()
