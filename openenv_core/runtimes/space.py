"""A server that a Hugging Face Space is, or holds: the Space itself, its image, or its repository installed here."""

import base64
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from openenv_core.errors import ConfigurationError, ConnectionFailedError, UnauthorizedError
from openenv_core.runtimes.docker import DockerRuntime
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.runtimes.readiness import is_ready, wait_until_ready

__all__ = [
    "SpaceRepositoryRuntime",
    "SpaceRuntime",
    "check_space",
    "hub_address",
    "registry_image",
    "space_runtime",
    "space_subdomain",
]

_SOURCES = ("url", "image", "git")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_LIMIT_S = 20.0
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_INSTALL_LIMIT_S = 900.0
_STUCK = {
    "BUILD_ERROR": "its image does not build; its page on the Hub shows why",
    "CONFIG_ERROR": "the front matter of its README is wrong",
    "NO_APP_FILE": "it has no Dockerfile",
    "PAUSED": "it is paused; its owner can restart it in its settings",
    "RUNTIME_ERROR": "its server has ended with an error; its page on the Hub shows the log",
    "DELETING": "it is being deleted",
}
"""Stages of a Space in which waiting is of no use, and what to do."""

_log = logging.getLogger(__name__)


def check_space(space: str, source: str, options: Mapping[str, Any]) -> None:
    """Refuse what cannot work, before anything is started.

    Raises:
        ConfigurationError: the name is none, the source is none, or an option is missing for it.
    """
    if _NAME.fullmatch(space) is None:
        raise ConfigurationError(f"{space!r} is not the name of a Space: write owner/name")
    if source not in _SOURCES:
        raise ConfigurationError(f"source is {source!r}; it must be {', '.join(map(repr, _SOURCES))}")
    if source == "git" and options["trust_remote_code"] is not True:
        raise ConfigurationError(
            f"installing {space} runs its owner's code on this machine, with your rights; read it, and then say "
            "trust_remote_code=True"
        )
    if source == "git" and _COMMIT.fullmatch(options["revision"] or "") is None:
        raise ConfigurationError(
            f"revision must be the full commit of {space} that you trust, 40 hexadecimal digits: a branch may hold "
            "other code tomorrow"
        )
    if source == "url" and options["env_vars"]:
        raise ConfigurationError("env_vars are for a server that is started here; those of a Space are in its settings")


def space_runtime(space: str, source: str, options: Mapping[str, Any]) -> Any:
    """What runs the server of a Space: one of this module's runtimes, or a container's."""
    token, limit_s = options["token"], options["start_limit_s"]
    if source == "url":
        return SpaceRuntime(space, token=token, start_limit_s=limit_s)
    if source == "image":
        return DockerRuntime(
            registry_image(space, options["revision"] or "latest"),
            env_vars=options["env_vars"],
            registry_login=(space.partition("/")[0], token) if token else None,
            start_limit_s=limit_s,
        )
    return SpaceRepositoryRuntime(
        space, options["revision"], token=token, env_vars=options["env_vars"], start_limit_s=limit_s
    )


def space_subdomain(space: str) -> str:
    """The Space's name as the Hub writes it in host names: lower case, and ``-`` for all else."""
    return re.sub(r"[^a-z0-9]", "-", space.lower())


def registry_image(space: str, tag: str = "latest") -> str:
    """The image of a Space in the Hub's registry."""
    return f"registry.hf.space/{space_subdomain(space)}:{tag}"


def hub_address() -> str:
    """The Hub: ``HF_ENDPOINT``, as of the Hub's own package, or the public one."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


class SpaceRuntime:
    """A Space that runs on the Hub. Starting it is to wait until it answers; stopping it is not ours to do.

    Args:
        space: ``owner/name``.
        token: of the Hub, for a private Space.
        start_limit_s: it must answer within so many seconds.
    """

    def __init__(self, space: str, *, token: str | None = None, start_limit_s: float = 300.0) -> None:
        self._space = space
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._start_limit_s = start_limit_s

    def start(self) -> str:
        """Wait until the Space answers; returns its address.

        Raises:
            ConfigurationError: there is no such Space.
            UnauthorizedError: it is private, and the token is missing or another one.
            ConnectionFailedError: the Hub is out of reach, the Space cannot start, or it was not ready in time.
        """
        facts = self._facts()
        address = str(facts.get("host") or f"https://{space_subdomain(self._space)}.hf.space").rstrip("/")
        wait_until_ready(
            f"the Space {self._space} at {address}",
            lambda: is_ready(address, self._headers, trust_env=True),
            limit_s=self._start_limit_s,
            ended=self._why_stuck,
            pause_s=2.0,
        )
        return address

    def stop(self) -> None:
        """Leave it as it is."""

    def _why_stuck(self) -> str | None:
        stage = str((self._facts().get("runtime") or {}).get("stage", ""))
        return f"cannot be used: {_STUCK[stage]}" if stage in _STUCK else None

    def _facts(self) -> Mapping[str, Any]:
        """What the Hub knows of the Space."""
        url = f"{hub_address()}/api/spaces/{self._space}"
        try:
            answer = httpx.get(url, headers=self._headers, timeout=_HUB_LIMIT_S, follow_redirects=True)
        except httpx.HTTPError as error:
            raise ConnectionFailedError(f"the Hub cannot be reached at {url}: {error}") from error
        if answer.status_code in (401, 403, 404):
            # The Hub does not tell a stranger whether a private Space exists.
            if self._headers:
                raise UnauthorizedError(f"there is no Space {self._space}, or the token may not see it")
            raise ConfigurationError(f"there is no Space {self._space}; if it is private, give the token of the Hub")
        if answer.status_code != 200:
            raise ConnectionFailedError(f"the Hub answered {answer.status_code} to a question about {self._space}")
        found: Mapping[str, Any] = answer.json()
        return found


class SpaceRepositoryRuntime:
    """The repository of a Space, installed into an environment of its own, and its server as a process.

    Args:
        space: ``owner/name``.
        revision: the commit.
        token: of the Hub, for a private Space.
        env_vars: environment variables of the server.
        start_limit_s: the server must be ready within so many seconds, once it is installed.
    """

    def __init__(
        self,
        space: str,
        revision: str,
        *,
        token: str | None = None,
        env_vars: Mapping[str, str] | None = None,
        start_limit_s: float = 300.0,
    ) -> None:
        self._space, self._revision, self._token = space, revision, token
        self._env_vars = dict(env_vars or {})
        self._start_limit_s = start_limit_s
        self._server: ProcessRuntime | None = None

    def start(self) -> str:
        """Install the repository, where this machine has not yet, and start its server; returns the server's address.

        Raises:
            ConnectionFailedError: the repository cannot be had, or its server did not start.
            ConfigurationError: it does not install, or is no environment of ours.
        """
        home = self._home()
        if not (home / "installed").is_file():
            self._install(home)
        self._server = ProcessRuntime(
            _environment_name(home / "repository"),
            env_vars=self._env_vars,
            start_limit_s=self._start_limit_s,
            python=str(_python_of(home)),
        )
        return self._server.start()

    def stop(self) -> None:
        """End the server. What is installed stays for the next time."""
        if self._server is not None:
            self._server.stop()

    def _home(self) -> Path:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "openenv" / "spaces" / space_subdomain(self._space) / self._revision

    def _install(self, home: Path) -> None:
        home.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="installing-", dir=home.parent))
        try:
            repository = made / "repository"
            self._clone(repository)
            _environment_name(repository)
            _log.info("installing %s at %s ...", self._space, self._revision)
            shutil.rmtree(home, ignore_errors=True)
            made.rename(home)  # before the environment is made: it does not bear to be moved
            _install_into(home)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _clone(self, folder: Path) -> None:
        url = f"{hub_address()}/spaces/{self._space}"
        # By a variable: a command line, and the settings of the clone, are for others to read.
        credentials = {}
        if self._token:
            owner = self._space.partition("/")[0]
            basic = base64.b64encode(f"{owner}:{self._token}".encode()).decode()
            credentials = {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"http.{hub_address()}/.extraHeader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
            }
        environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", **credentials}
        for command in (
            ["git", "clone", "--quiet", "--no-checkout", url, str(folder)],
            ["git", "-C", str(folder), "checkout", "--quiet", "--detach", self._revision],
        ):
            failure = _run(command, environ)
            if failure is not None:
                raise ConnectionFailedError(f"the repository of {self._space} cannot be had: {failure}")
        for wheel in sorted(folder.glob("wheels/*.whl")):
            if wheel.read_bytes().startswith(_LFS_POINTER):
                self._fetch(wheel.relative_to(folder).as_posix(), wheel)

    def _fetch(self, name: str, place: Path) -> None:
        """Get a file that the Hub keeps apart from the repository, without git-lfs, which may not be installed."""
        url = f"{hub_address()}/spaces/{self._space}/resolve/{self._revision}/{name}"
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            answer = httpx.get(url, headers=headers, timeout=_HUB_LIMIT_S, follow_redirects=True).raise_for_status()
        except httpx.HTTPError as error:
            raise ConnectionFailedError(f"{name} of {self._space} cannot be had: {error}") from error
        place.write_bytes(answer.content)


def _install_into(home: Path) -> None:
    """A virtual environment, and in it what the folder of a Space says: see its Dockerfile."""
    repository, python = home / "repository", _python_of(home)
    requirements = ["--requirement", "requirements.txt"] if (repository / "requirements.txt").is_file() else []
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = [[sys.executable, "-m", "venv", str(home / "environment")]]
    commands += [[*pip, *requirements]] if requirements else []
    commands.append([*pip, "--no-deps", ".", "./server"])
    for command in commands:
        failure = _run(command, dict(os.environ), repository)
        if failure is not None:
            raise ConfigurationError(f"{home.parent.name} does not install: {failure}")
    (home / "installed").touch()


def _python_of(home: Path) -> Path:
    folder, name = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
    return home / "environment" / folder / name


def _environment_name(repository: Path) -> str:
    """The environment that the server's project in the repository of a Space declares.

    Raises:
        ConfigurationError: there is none.
    """
    try:
        project = tomllib.loads((repository / "server" / "pyproject.toml").read_text())["project"]
        return str(next(iter(project["entry-points"]["openenv.environments"])))
    except (OSError, KeyError, StopIteration, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(
            "the repository has no server/pyproject.toml that declares an environment: it is not one that `openenv "
            "push` has made"
        ) from error


def _run(command: list[str], environ: Mapping[str, str], folder: Path | None = None) -> str | None:
    """Run a command; the last lines of what a failing one said, ``None`` where all went well."""
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_INSTALL_LIMIT_S,
            check=False,
        )
    except FileNotFoundError:
        return f"there is no command {command[0]!r}"
    except subprocess.TimeoutExpired:
        return f"{command[0]} took more than {_INSTALL_LIMIT_S:g} s"
    if ran.returncode == 0:
        return None
    return "\n".join((ran.stderr or ran.stdout).strip().splitlines()[-5:]) or f"exit code {ran.returncode}"
