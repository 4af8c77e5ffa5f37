"""The folder of a Hugging Face Space: complete by itself, with client, server and framework."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openenv_core.errors import ConfigurationError
from openenv_core.packaging.card import space_card
from openenv_core.packaging.project import MANIFEST, Distribution, Project
from openenv_core.packaging.recipes import (
    CoreSource,
    client_pyproject,
    requirements,
    server_pyproject,
    space_dockerfile,
    with_variables,
)
from openenv_core.packaging.sieve import Sifted, sift
from openenv_core.packaging.wheel import core_wheel_name, write_core_wheel

__all__ = ["SpaceOptions", "SpacePlan", "plan_space", "wheel_path", "write_space"]

_ATTRIBUTES = "*.whl filter=lfs diff=lfs merge=lfs -text\n"
_DOCKERIGNORE = ".git\n**/__pycache__\n**/*.py[cod]\n"
_NOT_AT_THE_ROOT = frozenset({"README.md", "Dockerfile", MANIFEST, "pyproject.toml"})


@dataclass(frozen=True)
class SpaceOptions:
    """What the Space is to be.

    Attributes:
        repo_id: ``owner/name``.
        endpoint: address of the Hub, without a slash at its end.
        core: ``bundle``, ``index`` or ``git+URL``: from where the framework is installed.
        variant: name of the variant.
        variables: the environment variables that choose the variant; they are written into the Dockerfile.
        exclude: patterns of files that stay behind, as in a ``.gitignore``.
    """

    repo_id: str
    endpoint: str
    core: str = "bundle"
    variant: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Address of the Space's repository."""
        return f"{self.endpoint}/spaces/{self.repo_id}"


@dataclass
class SpacePlan:
    """What a Space's folder will hold. Paths are relative to it.

    Attributes:
        files: path or content of each file.
        left: what stays behind, with the reason; paths are the project's.
        refused: what must not be published, with the reason.
        with_wheel: whether the framework's wheel comes with it.
    """

    files: dict[str, Path | str]
    left: dict[str, str]
    refused: dict[str, str]
    with_wheel: bool

    def size_of(self, name: str) -> int:
        """Bytes of a file."""
        content = self.files[name]
        return content.stat().st_size if isinstance(content, Path) else len(content.encode())


def plan_space(project: Project, options: SpaceOptions) -> SpacePlan:
    """Decide what the Space's folder holds. Writes nothing.

    Raises:
        ConfigurationError: the project lacks what a Space needs.
    """
    core = CoreSource.of(options.core, options.url)
    dockerfile = project.folder / "Dockerfile"
    if not dockerfile.is_file():
        raise ConfigurationError(f"there is no Dockerfile in {project.folder}")
    plan = SpacePlan({}, {}, {}, with_wheel=core.kind == "bundle")
    for distribution, place in ((project.client, ""), (project.server, "server/")):
        _add(plan, distribution, place, project, options.exclude)
    plan.files["README.md"] = space_card(project, options.repo_id, options.url, variant=options.variant)
    plan.files["Dockerfile"] = with_variables(
        space_dockerfile(dockerfile.read_text(encoding="utf-8"), core), options.variables
    )
    plan.files[MANIFEST] = _manifest(project)
    plan.files["pyproject.toml"] = client_pyproject(project.client, core)
    plan.files["server/pyproject.toml"] = server_pyproject(project, core, options.url)
    plan.files["requirements.txt"] = requirements(project, core)
    plan.files.setdefault(".dockerignore", _DOCKERIGNORE)
    plan.files[".gitattributes"] = _ATTRIBUTES
    plan.files = dict(sorted(plan.files.items()))
    return plan


def _add(plan: SpacePlan, distribution: Distribution, place: str, project: Project, exclude: tuple[str, ...]) -> None:
    """Add what a distribution's folder holds, which for a client at the project's root includes the server's folder."""
    sifted = sift(distribution.folder, exclude=exclude)
    prefix = "" if distribution.folder == project.folder else f"{_name(distribution, project)}/"
    for name, path in sifted.kept.items():
        if not _is_elsewhere(name, place, distribution, project):
            plan.files[place + name] = path
    plan.left |= {prefix + name: reason for name, reason in sifted.left.items()}
    plan.refused |= {prefix + name: reason for name, reason in sifted.refused.items()}
    _check_packages(distribution, sifted)


def _name(distribution: Distribution, project: Project) -> str:
    return project.manifest.client if distribution is project.client else project.manifest.server


def _is_elsewhere(name: str, place: str, distribution: Distribution, project: Project) -> bool:
    """Whether a file's place in a Space is another one, or its content is made for the Space."""
    if place == "":
        inside_server = project.server.folder.is_relative_to(distribution.folder) and name.startswith(
            f"{project.server.folder.relative_to(distribution.folder).as_posix()}/"
        )
        is_own = name.startswith("wheels/") or name == "requirements.txt"
        return inside_server or is_own or name in _NOT_AT_THE_ROOT
    # A server that is the project's root has the card and the Dockerfile beside it.
    return name in {"Dockerfile", MANIFEST, ".dockerignore"}


def _check_packages(distribution: Distribution, sifted: Sifted) -> None:
    for package in distribution.packages:
        if not any(name.startswith(f"{package}/") for name in sifted.kept):
            raise ConfigurationError(
                f"{distribution.name}: nothing of its package {package!r} would be published; is it ignored?"
            )


def _manifest(project: Project) -> str:
    """The manifest without the places of client and server: in a Space they are where they are expected."""
    import yaml

    table: dict[str, Any] = yaml.safe_load((project.folder / MANIFEST).read_text(encoding="utf-8"))
    kept = {name: value for name, value in table.items() if name not in {"client", "server"}}
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=1000)


def write_space(plan: SpacePlan, folder: Path) -> None:
    """Write the folder. What was in it before is gone.

    Raises:
        ConfigurationError: something is refused, or ``folder`` holds something that is no Space's folder.
    """
    if plan.refused:
        listed = "; ".join(f"{name}: {reason}" for name, reason in plan.refused.items())
        raise ConfigurationError(f"refused: {listed}. Remove it, or name it in .gitignore or --exclude")
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ConfigurationError(f"{folder} is not empty, and is not the folder of a Space; name another one")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".openenv-push-", dir=folder.parent) as made:
        staged = Path(made) / "space"
        for name, content in plan.files.items():
            path = staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_text(content, encoding="utf-8")
        if plan.with_wheel:
            write_core_wheel(staged / "wheels")
        if folder.exists():
            shutil.rmtree(folder)
        staged.rename(folder)


def wheel_path() -> str:
    """Where in a Space's folder the framework's wheel is."""
    return f"wheels/{core_wheel_name()}"
