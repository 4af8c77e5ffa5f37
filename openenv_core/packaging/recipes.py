"""What a Space's folder installs: its ``pyproject.toml`` files, its ``requirements.txt``, its Dockerfile."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from openenv_core.errors import ConfigurationError
from openenv_core.packaging.project import Distribution, Project
from openenv_core.packaging.wheel import CORE, core_wheel_name

__all__ = [
    "CoreSource",
    "client_pyproject",
    "name_of",
    "requirements",
    "server_pyproject",
    "space_dockerfile",
    "with_variables",
]

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.\-]*)\s*(?:\[([^\]]*)\])?")
_SOURCES = re.compile(r"^# openenv:sources begin.*?^# openenv:sources end[^\n]*\n", re.MULTILINE | re.DOTALL)
_INSTALL = (
    "COPY requirements.txt ./\n{before}RUN pip install --requirement requirements.txt\n"
    "COPY . .\nRUN pip install --no-deps . ./server\n"
)
_BEFORE = {
    "bundle": "COPY wheels wheels\n",
    "index": "",
    "git": "RUN apt-get update && apt-get install --yes --no-install-recommends git\n",
}


@dataclass(frozen=True)
class CoreSource:
    """From where the framework is installed.

    Attributes:
        kind: ``"bundle"``: the Space carries its wheel; ``"index"``: the package index; ``"git"``: a git repository.
        url: of the wheel in the Space, or of the git repository as ``git+https://…``.
    """

    kind: Literal["bundle", "index", "git"]
    url: str = ""

    @classmethod
    def of(cls, text: str, space_url: str) -> "CoreSource":
        """What ``--core`` says: ``bundle``, ``index`` or ``git+URL``.

        Raises:
            ConfigurationError: it is none of them.
        """
        if text == "bundle":
            return cls("bundle", f"{space_url}/resolve/main/wheels/{core_wheel_name()}")
        if text == "index":
            return cls("index")
        if text.startswith("git+") and "://" in text:
            return cls("git", text)
        raise ConfigurationError(f"--core is bundle, index or git+URL, not {text!r}")

    def requirement(self, original: str) -> str:
        """A requirement of the framework, by which the package index is not asked for it."""
        if self.kind == "index":
            return original
        extras = _extras(original)
        return f"{CORE}{f'[{extras}]' if extras else ''} @ {self.url}"

    def local_requirements(self, extras: str) -> list[str]:
        """The same for someone who stands in the Space's folder: lines of a ``requirements.txt``."""
        if self.kind == "bundle":
            wheel = f"./wheels/{core_wheel_name()}"
            # The plain line, too: pip up to 23 takes a wheel with extras for another thing than the framework that a
            # distribution beside it requires without any, and asks the package index for that.
            return [wheel, f"{wheel}[{extras}]"]
        return [self.requirement(f"{CORE}[{extras}]")]


def name_of(requirement: str) -> str:
    """The name that a requirement is about, in its normal form (PEP 503)."""
    found = _REQUIREMENT.match(requirement)
    return re.sub(r"[-_.]+", "-", found.group(1)).lower() if found is not None else ""


def _extras(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return ",".join(sorted(part.strip() for part in (found.group(2) or "").split(",") if part.strip())) if found else ""


def client_pyproject(client: Distribution, core: CoreSource) -> str:
    """The client's ``pyproject.toml`` with the framework taken from ``core``."""
    return _with_requirements(client, {CORE: core.requirement})


def server_pyproject(project: Project, core: CoreSource, space_url: str) -> str:
    """The server's ``pyproject.toml``, with the framework taken from ``core`` and the client from the Space."""
    client = name_of(project.client.name)
    where = {client: lambda original: f"{project.client.name} @ git+{space_url}"}
    return _with_requirements(project.server, {CORE: core.requirement, **where})


def _with_requirements(distribution: Distribution, changes: Mapping[str, Callable[[str], str]]) -> str:
    """A ``pyproject.toml`` in which some requirements are replaced; all else, the comments too, is as it was."""
    import tomlkit

    document = tomlkit.parse((distribution.folder / "pyproject.toml").read_text(encoding="utf-8"))
    project: Any = document["project"]
    listed = project.get("dependencies", [])
    has_direct = False
    for index, original in enumerate(listed.unwrap()):
        change = changes.get(name_of(original))
        if change is not None:
            listed[index] = change(original)
            has_direct = has_direct or " @ " in str(listed[index])
    if has_direct:
        metadata: Any = document
        for key in ("tool", "hatch", "metadata"):
            metadata = metadata.setdefault(key, tomlkit.table())
        metadata["allow-direct-references"] = True
    return tomlkit.dumps(document)


def requirements(project: Project, core: CoreSource) -> str:
    """What the image installs beside the two distributions of the project: the framework, then their dependencies."""
    ours = {CORE, name_of(project.client.name), name_of(project.server.name)}
    wanted = [*project.client.requires, *project.server.requires]
    extras = {extra for each in wanted if name_of(each) == CORE for extra in _extras(each).split(",") if extra}
    others = sorted({each for each in wanted if name_of(each) not in ours})
    lines = [*core.local_requirements(",".join(sorted(extras | {"cli", "server"}))), *others]
    return "".join(f"{line}\n" for line in lines)


def space_dockerfile(text: str, core: CoreSource) -> str:
    """A project's Dockerfile as it stands in a Space.

    Args:
        text: the Dockerfile. Between the lines ``# openenv:sources begin`` and ``# openenv:sources end`` it takes the
            sources from the repository that the project is part of; a Space has them in its own folder. A Dockerfile
            without such lines is one for such a folder already.
        core: from where the framework is installed.
    """
    text = _SOURCES.sub(lambda _: _INSTALL.format(before=_BEFORE[core.kind]), text)
    return re.sub(r" --file \S*Dockerfile", "", text.replace("From the root of the repository:", "In this folder:"))


def with_variables(dockerfile: str, variables: Mapping[str, str]) -> str:
    """A Dockerfile whose image has environment variables as well, a variant's say.

    Raises:
        ConfigurationError: a name or a value does not fit on a line.
    """
    return dockerfile.rstrip("\n") + "\n" + "".join(f"ENV {_pair(*each)}\n" for each in variables.items())


def _pair(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\n" in value:
        raise ConfigurationError(f"{name!r} is no name of an environment variable, or its value has several lines")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'{name}="{escaped}"'
