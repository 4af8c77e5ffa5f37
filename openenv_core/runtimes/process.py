"""A server in a process of this machine."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from openenv_core.errors import ConnectionFailedError
from openenv_core.runtimes.readiness import is_ready, wait_until_ready

__all__ = ["ProcessRuntime"]

_LISTENING = re.compile(r'listening on (http://[^\s"]+)')


class ProcessRuntime:
    """``openenv serve`` in a process of its own, on a free port of 127.0.0.1.

    Args:
        target: what to serve: an installed environment's name, ``module:object``, or ``gym:ID``.
        env_vars: environment variables for the server, beside those of this process.
        arguments: further arguments of ``openenv serve``.
        port: another port than a free one.
        start_limit_s: the server must be ready within so many seconds.
        python: the interpreter of another environment than this one, in which the framework is installed.

    Attributes:
        base_url: the server's address, once it is started.
    """

    def __init__(
        self,
        target: str,
        *,
        env_vars: Mapping[str, str] | None = None,
        arguments: list[str] | None = None,
        port: int = 0,
        start_limit_s: float = 60.0,
        python: str | None = None,
    ) -> None:
        self._command = [python or sys.executable, "-m", "openenv_core.cli", "serve", target, "--port", str(port)]
        self._command += arguments or []
        self._env_vars = dict(env_vars or {})
        self._start_limit_s = start_limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self.base_url = ""

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._process is not None, "the server is not started"
        return self._process.pid

    def start(self) -> str:
        """Start the server and wait until it is ready; returns its address.

        Raises:
            ConnectionFailedError: it ended, or was not ready in time; the message holds the last lines of its log.
        """
        descriptor, name = tempfile.mkstemp(prefix="openenv-serve-", suffix=".log")
        self._log = Path(name)
        with os.fdopen(descriptor, "wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._env_vars},
                start_new_session=True,  # a Ctrl-C at the terminal is for the caller, who stops the server in order
            )
        try:
            wait_until_ready(
                f"the server `{' '.join(self._command[3:])}`",
                self._is_ready,
                limit_s=self._start_limit_s,
                ended=self._why_ended,
                logs=self.logs,
                pause_s=0.05,
            )
        except ConnectionFailedError:
            self.stop()
            raise
        return self.base_url

    def _is_ready(self) -> bool:
        found = _LISTENING.search(self.logs())
        if found is None:
            return False
        self.base_url = found.group(1)
        return is_ready(self.base_url)

    def _why_ended(self) -> str | None:
        code = self._process.poll() if self._process is not None else None
        return f"ended with {code}" if code is not None else None

    def logs(self) -> str:
        """What the server has written so far."""
        return self._log.read_text(errors="replace") if self._log is not None and self._log.exists() else ""

    def stop(self, grace_s: float = 15.0) -> None:
        """End the server: in order, and by force after ``grace_s`` seconds. May be called more than once."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(grace_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._log is not None:
            self._log.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
