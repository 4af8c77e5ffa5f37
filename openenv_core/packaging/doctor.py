"""What of this machine works: each finding with how to mend what does not."""

import importlib.metadata
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import openenv_core
from openenv_core.errors import OpenEnvError
from openenv_core.extras import install_hint, needs_extra
from openenv_core.packaging.findings import Finding, Severity
from openenv_core.packaging.wheel import CORE

__all__ = ["examine"]

_OLDEST_PYTHON = (3, 11)
_HUB_LIMIT_S = 5.0
_NOT_FOR_USERS = frozenset({"dev"})


def examine(port: int) -> Iterator[Finding]:
    """Look at one thing after the other. Nothing is changed, installed or started.

    Args:
        port: on which a server is to listen.
    """
    yield _python()
    yield _framework()
    yield from _extras()
    yield from _environments()
    yield _engine()
    yield _browser()
    yield _hub()
    yield _port(port)
    yield _writable()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    where = f"{version}, {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Finding("python", Severity.ERROR, where, f"Install Python {oldest} or newer")
    if sys.prefix == sys.base_prefix:
        return Finding("python", Severity.WARNING, f"{where}, no virtual environment", "python3 -m venv .venv")
    return Finding("python", Severity.OK, where)


def _framework() -> Finding:
    try:
        version = importlib.metadata.version(CORE)
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if version != openenv_core.__version__:
        return Finding(
            "framework",
            Severity.ERROR,
            f"openenv_core is {openenv_core.__version__}, but the distribution {CORE} is {version}",
            "Another project on the public index has this name; install ours from its repository or wheel",
        )
    return Finding("framework", Severity.OK, f"{CORE} {version}")


def _extras() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    wanted = [Requirement(text) for text in importlib.metadata.requires(CORE) or ()]
    extras = importlib.metadata.metadata(CORE).get_all("Provides-Extra") or []
    for extra in sorted(set(extras) - _NOT_FOR_USERS):
        parts = [
            each
            for each in wanted
            if each.marker is not None
            and each.marker.evaluate({"extra": extra})
            and not each.marker.evaluate({"extra": ""})
        ]
        missing = [fault for each in parts if (fault := _fault_of(each.name, str(each.specifier))) is not None]
        if not missing:
            yield Finding(f"extra.{extra}", Severity.OK, ", ".join(each.name for each in parts))
            continue
        is_needed = extra in {"cli", "server"}
        remedy = install_hint(extra)
        if is_needed:
            yield Finding(f"extra.{extra}", Severity.WARNING, "; ".join(missing), remedy)
        else:
            yield Finding(f"extra.{extra}", Severity.SKIP, f"not here: {'; '.join(missing)}; {remedy}")


def _fault_of(name: str, specifier: str) -> str | None:
    from packaging.specifiers import SpecifierSet

    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return name
    fits = SpecifierSet(specifier).contains(version, prereleases=True)
    return None if fits else f"{name} is {version}, and {specifier} is wanted"


def _environments() -> Iterator[Finding]:
    from openenv_core.targets import installed, load_spec

    names = list(installed())
    if not names:
        yield Finding(
            "environments", Severity.SKIP, "none is installed; `openenv init NAME` makes one, pip installs others"
        )
    for name in names:
        try:
            load_spec(name)
        except OpenEnvError as error:
            yield Finding(f"environment.{name}", Severity.ERROR, error.message, "Install what it misses, or remove it")
        else:
            yield Finding(f"environment.{name}", Severity.OK, "loads")


def _engine() -> Finding:
    from openenv_core.runtimes.engine import connect_engine

    try:
        engine = connect_engine()
    except OpenEnvError as error:
        return Finding("docker", Severity.WARNING, "images cannot be built or run here", error.message)
    try:
        version = engine.version()["Version"]
    finally:
        engine.close()
    return Finding("docker", Severity.OK, f"engine {version}")


def _browser() -> Finding:
    from openenv_core.targets import installed, load_object

    if "browsergym_env" not in installed():
        return Finding("browser", Severity.SKIP, "the browser environment is not installed")
    try:
        found = load_object("browsergym_env_server.executable:find_browser")(os.environ.get("BROWSERGYM_BROWSER"))
    except OpenEnvError as error:
        return Finding("browser", Severity.ERROR, error.message, "openenv install-browser")
    return Finding("browser", Severity.OK, f"{found.path}, {found.source}")


def _hub() -> Finding:
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError:
        return Finding("hub", Severity.SKIP, needs_extra("it needs", "hub"))
    if get_token() is None:
        return Finding("hub", Severity.WARNING, "nobody is logged in", "hf auth login, or set HF_TOKEN")
    try:
        return Finding("hub", Severity.OK, f"logged in as {_within(_HUB_LIMIT_S, HfApi().whoami)['name']}")
    except Exception as error:  # noqa: BLE001 - the library's transport has errors below no common class
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        return Finding("hub", Severity.WARNING, f"the token could not be tried: {reason}", "hf auth login")


def _within(limit_s: float, call: Callable[[], Any]) -> Any:
    """What a call returns; it is left alone where that takes too long."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:  # noqa: BLE001 - handed on to who waits
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result(limit_s)
    except TimeoutError:
        raise TimeoutError(f"no answer within {limit_s:g} s") from None


def _port(port: int) -> Finding:
    with socket.socket() as probe:
        # As a server does: what has just ended does not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return Finding(
                "port", Severity.WARNING, f"127.0.0.1:{port}: {error.strerror}", "openenv serve NAME --port 0"
            )
    return Finding("port", Severity.OK, f"127.0.0.1:{port} is free")


def _writable() -> Finding:
    try:
        with tempfile.TemporaryFile():
            return Finding("temporary files", Severity.OK, tempfile.gettempdir())
    except OSError as error:
        return Finding("temporary files", Severity.ERROR, str(error), "Set TMPDIR to a folder that can be written to")
