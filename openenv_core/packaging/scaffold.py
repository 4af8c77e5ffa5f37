"""New projects from the template."""

import importlib.util
import keyword
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import openenv_core
from openenv_core.errors import ConfigurationError
from openenv_core.packaging.origins import Origin, read_origin
from openenv_core.packaging.recipes import CoreSource
from openenv_core.packaging.templating import template_files
from openenv_core.packaging.wheel import write_core_wheel
from openenv_core.targets import installed

__all__ = ["check_name", "class_prefix", "create_project"]

_TAKEN = frozenset({"openenv", "openenv_core", "server", "tests", "test", "wheels", "acme_env", "acme"})
_LONGEST = 30
_CORE = re.compile(r"openenv-core(\[[\w,]*\])?>=[\w.]+,<\d+")


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a package.

    Raises:
        ConfigurationError: says what a name is like.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > _LONGEST:
        raise ConfigurationError(
            f"{name!r} is no name for an environment: small letters, digits and single underscores, a letter first, "
            f"{_LONGEST} characters at most; chess_env, say"
        )
    if name in _TAKEN or keyword.iskeyword(name) or name in sys.stdlib_module_names:
        raise ConfigurationError(f"{name!r} is the name of something else that Python imports; try {name}_env")


def _refuse_installed(name: str, folder: Path) -> None:
    """Two environments of one name: which would be served, and whose client imported, nobody could tell."""
    known = installed().get(name)
    package = importlib.util.find_spec(name)
    where = next(iter(package.submodule_search_locations or ()), package.origin) if package is not None else None
    is_here = where is not None and Path(where).resolve().is_relative_to(folder.resolve())
    if is_here or (known is None and (package is None or package.origin is None)):
        return
    whose = known.dist.name if known is not None and known.dist is not None else where
    raise ConfigurationError(
        f"{name!r} is installed here already ({whose}), and would hide or be hidden; take another name"
    )


def class_prefix(name: str) -> str:
    """What the classes of an environment begin with: ``Chess`` for ``chess_env``, ``MyGame`` for ``my_game``."""
    return "".join(part.capitalize() for part in (name.removesuffix("_env") or name).split("_"))


def create_project(name: str, output: Path, sources: list[str]) -> Path:
    """Make a project in ``output/name`` and return that folder. On an error nothing is left.

    Args:
        name: of the environment, and of its client's package.
        output: the folder in which the project's own is made.
        sources: what it starts from, as :func:`~openenv_core.packaging.origins.read_origin` takes it.

    Raises:
        ConfigurationError: the name, or what it starts from, cannot be used; or the folder is there already.
    """
    check_name(name)
    folder = output / name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} is there already, and not empty; take another name, or --output DIR")
    _refuse_installed(name, folder)
    origin = read_origin(sources)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".openenv-init-", dir=output) as made:
        staged = Path(made) / name
        for path, text in _files(origin):
            target = staged / _renamed(path, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_renamed(text, name), encoding="utf-8")
        write_core_wheel(staged / "wheels")
        # What the two distributions require stands in their own files, and is installed with them.
        framework = CoreSource("bundle").local_requirements("cli,server")
        (staged / "requirements.txt").write_text("".join(f"{line}\n" for line in framework), encoding="utf-8")
        if folder.exists():
            folder.rmdir()
        shutil.move(staged, folder)
    return folder


def _files(origin: Origin) -> Iterator[tuple[str, str]]:
    """The project's files before they are given its name."""
    texts = dict(template_files("project"))
    if origin.overlay is not None:
        texts |= dict(template_files(origin.overlay))
        texts.pop("ruff.toml")  # of the template itself, which inherits what the project states
        texts["README.md"] = _with_about(texts["README.md"], texts.pop("ABOUT.md"))
    texts["server/pyproject.toml"] = _with_requirements(texts["server/pyproject.toml"], origin.requires)
    yield from ((f"server/acme_env_server/{path}", text) for path, text in origin.files.items())
    for path, text in texts.items():
        for old, new in origin.replacements.items():
            text = text.replace(old, new)
        yield path, _described(_CORE.sub(_this_core, text), origin)


def _with_about(readme: str, about: str) -> str:
    """The common README, with what is special to the origin in the place of the template's game."""
    start, end = readme.index("# Acme environment"), readme.index("## Work on it")
    return f"{readme[:start]}{about}\n{readme[end:]}"


def _with_requirements(pyproject: str, requires: tuple[str, ...]) -> str:
    if not requires:
        return pyproject
    listed = re.search(r"^dependencies = \[(.*)\]$", pyproject, re.MULTILINE)
    assert listed is not None, "the template states its dependencies on one line"
    wanted = sorted([*re.findall(r'"([^"]+)"', listed.group(1)), *requires])
    lines = "".join(f'    "{each}",\n' for each in wanted)
    return pyproject.replace(listed.group(0), f"dependencies = [\n{lines}]")


def _this_core(found: re.Match[str]) -> str:
    major = int(openenv_core.__version__.partition(".")[0])
    return f"openenv-core{found.group(1) or ''}>={openenv_core.__version__},<{major + 1}"


def _described(text: str, origin: Origin) -> str:
    if origin.overlay is None:
        return text
    short = re.sub(r"\s+", " ", origin.description.rstrip("."))[:60]
    text = text.replace("Guess the number, with higher and lower as hints", f'"{short}"')
    for described in ("Think of a number, and answer guesses with higher or lower.", "Functions as tools."):
        text = text.replace(f"description: {described}", f'description: "{origin.description}"')
        text = text.replace(described, origin.description)
    return text


def _renamed(text: str, name: str) -> str:
    plain = name.removesuffix("_env") or name
    for old, new in (
        ("openenv-acme-env", f"openenv-{name.replace('_', '-')}"),
        ("openenv-acme", f"openenv-{plain.replace('_', '-')}"),
        ("acme_env", name),
        ("Acme environment", f"{plain.replace('_', ' ').capitalize()} environment"),
        ("title: Acme", f"title: {plain.replace('_', ' ').capitalize()}"),
        ("acme environment", f"{plain.replace('_', ' ')} environment"),
        ("acme server", f"{plain.replace('_', ' ')} server"),
        ("An acme", f"A {plain.replace('_', ' ')}"),
        ("--name acme", f"--name {plain.replace('_', '-')}"),
        ("Acme", class_prefix(name)),
    ):
        text = text.replace(old, new)
    return text
