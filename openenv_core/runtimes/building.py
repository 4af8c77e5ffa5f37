"""Building images with the docker command: which command, which context, which names."""

import glob
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openenv_core.errors import ConfigurationError

__all__ = ["Builder", "copied_sources", "default_tag", "find_builder", "find_context"]

_ASK_LIMIT_S = 30.0
_OWN_BUILDKIT_BEFORE = 23
"""The docker command had BuildKit in it before this version; since then a plugin, buildx, brings it."""


def default_tag(name: str) -> str:
    """What the image of an environment, or of one of its variants, is called: ``openenv-echo`` for ``echo_env``."""
    return f"openenv-{re.sub(r'[^a-z0-9.]+', '-', name.lower().removesuffix('_env')).strip('-')}"


def copied_sources(dockerfile: str) -> list[str]:
    """The files and folders that a Dockerfile copies from its context, as it writes them."""
    found = []
    for line in re.sub(r"\\\n", " ", dockerfile).splitlines():
        words = shlex.split(line, comments=True) if re.match(r"\s*(COPY|ADD)\s", line, re.IGNORECASE) else []
        options = [word for word in words[1:] if word.startswith("--")]
        if words and not any(option.startswith("--from") for option in options):
            found += [word for word in words[1 + len(options) : -1] if "://" not in word]
    return found


def find_context(dockerfile: Path) -> Path:
    """The folder to build in: the nearest, from the Dockerfile's own upwards, that has all that it copies.

    Raises:
        ConfigurationError: there is none; the message names what is missing in the Dockerfile's own folder.
    """
    sources = copied_sources(dockerfile.read_text())
    folders = list(dockerfile.resolve().parents)
    for folder in folders:
        if not _missing(folder, sources):
            return folder
    missing = ", ".join(_missing(folders[0], sources))
    raise ConfigurationError(f"{dockerfile} copies what is neither in {folders[0]} nor in a folder above: {missing}")


def _missing(folder: Path, sources: Iterable[str]) -> list[str]:
    return [source for source in sources if not glob.glob(f"{glob.escape(str(folder))}/{source.strip('/')}")]


@dataclass(frozen=True)
class Builder:
    """The docker command that builds.

    Attributes:
        program: its path.
        has_plugin: buildx is there: several platforms can be built at once.
        has_buildkit: BuildKit builds, by the plugin or of its own.
    """

    program: str
    has_plugin: bool
    has_buildkit: bool

    def build_command(
        self,
        context: Path,
        tag: str,
        *,
        build_arguments: Mapping[str, str] | None = None,
        platform: str | None = None,
        push: bool = False,
        plain: bool = False,
        cache: bool = True,
    ) -> list[str]:
        """The command that builds a Dockerfile read from its standard input.

        Args:
            context: the folder.
            tag: the image's name.
            build_arguments: by name.
            platform: as ``linux/arm64``; several with commas.
            push: to the registry that the tag names, in the same go.
            plain: tell of the progress line by line, and not by drawing.
            cache: use what was built before.

        Raises:
            ConfigurationError: several platforms, without a registry to push to or without the plugin.
        """
        command = [self.program, "build", "--file", "-", "--tag", tag]
        if platform is not None and "," in platform:
            if not (self.has_plugin and push):
                raise ConfigurationError(
                    "several platforms at once take Docker's plugin buildx, and --push: the engine here holds one only"
                )
            command[1:2] = ["buildx", "build"]
        command += ["--platform", platform] if platform is not None else []
        command += ["--push"] if push and command[1] == "buildx" else []
        command += ["--progress", "plain"] if plain and self.has_buildkit else []
        command += [] if cache else ["--no-cache"]
        for name, value in (build_arguments or {}).items():
            command += ["--build-arg", f"{name}={value}"]
        return [*command, str(context)]

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables with which the command is run."""
        return {**os.environ, "DOCKER_BUILDKIT": "1" if self.has_buildkit else "0"}


def _ask(*command: str) -> str | None:
    """What a command prints; ``None`` where it fails."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout if ran.returncode == 0 else None


def find_builder(programs: Sequence[str] | None = None) -> Builder:
    """The docker command of this machine; of several, the first with BuildKit.

    Raises:
        ConfigurationError: there is no docker command.
    """
    found = programs if programs is not None else _programs()
    builders = [_look_at(program) for program in found]
    if not builders:
        raise ConfigurationError("there is no docker command on this machine; install Docker to build images")
    return next((builder for builder in builders if builder.has_buildkit), builders[0])


def _programs() -> list[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = (shutil.which("docker", path=folder) for folder in folders if folder)
    return list(dict.fromkeys(path for path in found if path is not None))


def _look_at(program: str) -> Builder:
    plugin = _ask(program, "buildx", "version") is not None
    version = re.search(r"\d+", _ask(program, "--version") or "")
    own = version is not None and int(version.group()) < _OWN_BUILDKIT_BEFORE
    return Builder(program, has_plugin=plugin, has_buildkit=plugin or own)
