"""An environment's project on disk: its manifest ``openenv.yaml``, its client and its server."""

import importlib.metadata
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openenv_core.errors import ConfigurationError, ValidationFailedError

__all__ = [
    "MANIFEST",
    "Distribution",
    "Manifest",
    "Project",
    "find_project",
    "read_distribution",
    "read_manifest",
    "read_project",
    "source_folder",
]

MANIFEST = "openenv.yaml"
_CLIENTS = "openenv.clients"


class Manifest(BaseModel):
    """What ``openenv.yaml`` says. Keys that are not ours are the public package's, and let be.

    Attributes:
        spec_version: of the manifest's format; 1.
        name: of the environment.
        version: of the environment.
        description: one line.
        app: ``module:attribute`` of the ASGI application.
        port: on which the container listens; the Space's ``app_port``.
        action, observation: names of the models in the client package.
        client: folder of the client's project, from the manifest's own.
        server: folder of the server's project.
        title: the Space's name for people; default: made from ``name``.
        variables: environment variables that a Space of it sets, beside those that are given when it is pushed.
    """

    model_config = ConfigDict(extra="ignore")

    spec_version: int = Field(default=1, ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: str = "0.1.0"
    description: str = ""
    app: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    port: int = Field(default=8000, ge=1, le=65535)
    action: str | None = None
    observation: str | None = None
    client: str = "."
    server: str = "server"
    title: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Distribution:
    """One ``pyproject.toml`` and its folder.

    Attributes:
        folder: where it is.
        name: of the distribution.
        version: of the distribution.
        requires: its dependencies, as requirement strings.
        packages: the import packages in its wheel, as paths from the folder.
        table: the whole file.
    """

    folder: Path
    name: str
    version: str
    requires: tuple[str, ...]
    packages: tuple[str, ...]
    table: Mapping[str, Any]

    @property
    def project(self) -> Mapping[str, Any]:
        """The table ``[project]``."""
        found: Mapping[str, Any] = self.table["project"]
        return found

    def entry_points(self, group: str) -> Mapping[str, str]:
        """The entry points that it declares in a group."""
        found: Mapping[str, str] = self.project.get("entry-points", {}).get(group, {})
        return found


@dataclass(frozen=True)
class Project:
    """An environment's project.

    Attributes:
        folder: where the manifest is.
        manifest: what it says.
        client: the typed client's distribution.
        server: the server's.
    """

    folder: Path
    manifest: Manifest
    client: Distribution
    server: Distribution

    @property
    def name(self) -> str:
        """The environment's name."""
        return self.manifest.name

    @property
    def client_class(self) -> str | None:
        """``module:Class`` of the typed client, where the client's distribution declares it."""
        return self.client.entry_points(_CLIENTS).get(self.name)


def find_project(target: str) -> Project:
    """The project in a folder, or of an environment that is installed from its folder.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    folder = Path(target)
    if folder.is_dir():
        return read_project(folder)
    if (Path("envs") / target / MANIFEST).is_file():
        return read_project(Path("envs") / target)
    from openenv_core.targets import installed

    entry = installed().get(target)
    if entry is None or entry.dist is None:
        raise ConfigurationError(
            f"{target!r} is neither a folder with an {MANIFEST} nor an installed environment "
            f"(installed are: {', '.join(installed()) or 'none'})"
        )
    source = source_folder(entry.dist)
    for candidate in (source, source.parent) if source is not None else ():
        if (candidate / MANIFEST).is_file():
            return read_project(candidate)
    raise ConfigurationError(
        f"environment {target!r} is installed from a wheel, which has no {MANIFEST} and no Dockerfile; "
        "give the folder of its project"
    )


def source_folder(installed: importlib.metadata.Distribution) -> Path | None:
    """The folder from which a distribution is installed; ``None`` for one that is not from a folder."""
    text = installed.read_text("direct_url.json")
    url = json.loads(text).get("url", "") if text else ""
    return Path(unquote(urlsplit(url).path)).resolve() if url.startswith("file://") else None


def read_project(folder: Path) -> Project:
    """The project whose manifest is in ``folder``.

    Raises:
        ConfigurationError: the manifest, or one of the two ``pyproject.toml`` files, is missing or wrong.
    """
    folder = folder.resolve()
    manifest = read_manifest(folder / MANIFEST)
    client = read_distribution(folder / manifest.client)
    server = read_distribution(folder / manifest.server)
    return Project(folder, manifest, client, server)


def read_manifest(path: Path) -> Manifest:
    """The manifest at ``path``.

    Raises:
        ConfigurationError: it is missing, or not a manifest; the message names the key.
    """
    import yaml

    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            f"there is no {MANIFEST} in {path.parent}; `openenv init` makes a project with one"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    try:
        return Manifest.model_validate(table)
    except ValidationError as error:
        raise ConfigurationError(ValidationFailedError.of(error, str(path)).message) from error


def read_distribution(folder: Path) -> Distribution:
    """The distribution whose ``pyproject.toml`` is in ``folder``.

    Raises:
        ConfigurationError: it is missing, is not TOML, or names neither a distribution nor what is in its wheel.
    """
    path = folder.resolve() / "pyproject.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"there is no pyproject.toml in {path.parent}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not TOML: {error}") from error
    project = table.get("project", {})
    wheel = table.get("tool", {}).get("hatch", {}).get("build", {}).get("targets", {}).get("wheel", {})
    packages = tuple(wheel.get("packages", ()))
    if "name" not in project or "version" not in project:
        raise ConfigurationError(f"{path}: [project] needs a name and a version")
    if not packages:
        raise ConfigurationError(
            f'{path}: name what the wheel holds: [tool.hatch.build.targets.wheel] packages = ["…"]'
        )
    requires = tuple(project.get("dependencies", ()))
    return Distribution(path.parent, project["name"], project["version"], requires, packages, table)
