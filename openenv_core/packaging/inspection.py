"""Looking over a project without running it: its manifest, its card, its distributions, its Dockerfile."""

import re
from collections.abc import Iterator

from openenv_core.errors import ConfigurationError
from openenv_core.extras import needs_extra
from openenv_core.packaging.card import front_matter
from openenv_core.packaging.findings import Finding, Severity
from openenv_core.packaging.project import Distribution, Project
from openenv_core.packaging.recipes import name_of
from openenv_core.packaging.sieve import sift
from openenv_core.packaging.wheel import CORE

__all__ = ["inspect_project"]

_COLOURS = frozenset({"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"})
_SHORT = 60
_SERVER_SIDE = frozenset({"fastapi", "starlette", "uvicorn", "gradio", "torch", "trl", "playwright", "open-spiel"})
_WANTED_METADATA = ("description", "readme", "requires-python", "classifiers", "license")


def inspect_project(project: Project) -> Iterator[Finding]:
    """All that can be said of a project by reading it."""
    yield from _manifest(project)
    yield from _card(project)
    for distribution in (project.client, project.server):
        yield from _distribution(distribution)
    yield _lightness(project.client)
    yield from _entry_points(project)
    yield from _dockerfile(project)
    yield from _files(project)


def _ok(name: str, message: str) -> Finding:
    return Finding(name, Severity.OK, message)


def _warning(name: str, message: str, remedy: str) -> Finding:
    return Finding(name, Severity.WARNING, message, remedy)


def _error(name: str, message: str, remedy: str) -> Finding:
    return Finding(name, Severity.ERROR, message, remedy)


def _manifest(project: Project) -> Iterator[Finding]:
    manifest = project.manifest
    yield _ok("manifest.read", f"{manifest.name} {manifest.version}, {manifest.app}, port {manifest.port}")
    versions = {manifest.version, project.client.version, project.server.version}
    if len(versions) > 1:
        yield _warning(
            "manifest.versions",
            f"manifest {manifest.version}, client {project.client.version}, server {project.server.version}",
            "Let the three move together",
        )
    if not manifest.description:
        yield _warning("manifest.description", "there is none", "Say in one line what the environment is")
    package = manifest.app.partition(".")[0].partition(":")[0]
    if package not in project.server.packages:
        yield _error(
            "manifest.app",
            f"{manifest.app} is in no package of {project.server.name} ({', '.join(project.server.packages)})",
            "Name module:attribute of the application in the server's package",
        )


def _card(project: Project) -> Iterator[Finding]:
    path = project.folder / "README.md"
    if not path.is_file():
        yield _error("card.readme", "there is no README.md", "Write one: it is the card of the Space")
        return
    try:
        table, _ = front_matter(path.read_text(encoding="utf-8"))
    except ConfigurationError as error:
        yield _error("card.front_matter", error.message, "Correct the lines between the two --- at its top")
        return
    if not table:
        yield _warning(
            "card.front_matter", "the README has none", "`openenv push` adds it; with one of its own the card says more"
        )
        return
    wanted = {"sdk": "docker", "app_port": project.manifest.port, "base_path": "/web"}
    faults = [f"{key} is {table.get(key)!r}, not {value!r}" for key, value in wanted.items() if table.get(key) != value]
    faults += [f"{key} is {table[key]!r}" for key in ("colorFrom", "colorTo") if table.get(key, "red") not in _COLOURS]
    if len(str(table.get("short_description", ""))) > _SHORT:
        faults.append(f"short_description has more than {_SHORT} characters")
    if "openenv" not in (table.get("tags") or ()):
        faults.append("the tag openenv is missing")
    if faults:
        yield _error("card.front_matter", "; ".join(faults), "Correct the README's front matter")
    else:
        yield _ok(
            "card.front_matter", f"{table.get('title', project.name)}: sdk docker, port {table['app_port']}, /web"
        )


def _distribution(distribution: Distribution) -> Iterator[Finding]:
    name = f"package.{distribution.name}"
    missing = [key for key in _WANTED_METADATA if not distribution.project.get(key)]
    if missing:
        yield _warning(name, f"its metadata lack {', '.join(missing)}", "Add them to [project] in its pyproject.toml")
    readme = distribution.project.get("readme")
    if isinstance(readme, str) and not (distribution.folder / readme).is_file():
        yield _error(name, f"its readme {readme} is not there", "Write it, or name another one")
    for package in distribution.packages:
        folder = distribution.folder / package
        if not (folder / "__init__.py").is_file():
            yield _error(name, f"its package {package} is not there", "Correct `packages` in its pyproject.toml")
        elif not (folder / "py.typed").is_file():
            yield _warning(name, f"{package} has no py.typed", "Add the empty file: type checkers ask for it")
        else:
            yield _ok(name, f"{distribution.version}: {package}")


def _lightness(client: Distribution) -> Finding:
    heavy = [each for each in client.requires if name_of(each) in _SERVER_SIDE]
    heavy += [each for each in client.requires if name_of(each) == CORE and "[" in each]
    if heavy:
        return _error(
            "package.light", f"the client requires {', '.join(heavy)}", "Let the server's pyproject.toml require it"
        )
    return _ok("package.light", "the client requires nothing of the server")


def _entry_points(project: Project) -> Iterator[Finding]:
    for group, distribution in (("openenv.clients", project.client), ("openenv.environments", project.server)):
        found = distribution.entry_points(group)
        if project.name in found:
            yield _ok(f"package.{group}", f"{project.name} = {found[project.name]}")
        else:
            yield _error(
                f"package.{group}",
                f"{distribution.name} does not declare {project.name}",
                f'Add to its pyproject.toml: [project.entry-points."{group}"]',
            )


_LINES = {
    "image.user": (r"^USER (?!root\b|0\b)", "it runs as root", "Add a user of uid 1000, and USER 1000"),
    "image.health": (r"^HEALTHCHECK\b", "it has no HEALTHCHECK", "Ask /health, as `openenv init` makes it"),
    "image.port": (r"^EXPOSE {port}\b", "it does not EXPOSE {port}", "Expose the manifest's port"),
    "image.start": (r"^(CMD|ENTRYPOINT)\b", "it starts nothing", 'CMD ["openenv", "serve", "NAME"]'),
}


def _dockerfile(project: Project) -> Iterator[Finding]:
    path = project.folder / "Dockerfile"
    if not path.is_file():
        yield _error("image.dockerfile", "there is no Dockerfile", "`openenv init` makes projects with one")
        return
    text, port = path.read_text(encoding="utf-8"), project.manifest.port
    faults = [
        _warning(name, fault.format(port=port), remedy)
        for name, (pattern, fault, remedy) in _LINES.items()
        if re.search(pattern.replace("{port}", str(port)), text, re.MULTILINE) is None
    ]
    yield from faults
    if not faults:
        yield _ok("image.dockerfile", f"no root, a health check, port {port}")


def _files(project: Project) -> Iterator[Finding]:
    try:
        import pathspec  # noqa: F401 - only asked for
    except ImportError:
        yield Finding("files.secrets", Severity.SKIP, needs_extra("it needs", "hub"))
        return
    refused = {
        name: reason
        for folder in dict.fromkeys((project.client.folder, project.server.folder))
        for name, reason in sift(folder).refused.items()
    }
    for name, reason in refused.items():
        yield _error("files.secrets", f"{name}: {reason}", "Remove it, or name it in .gitignore")
    if not refused:
        yield _ok("files.secrets", "no secret and no large file would be published")
