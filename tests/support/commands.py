"""``openenv`` run in the tests' own process, as its entry point does."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

__all__ = ["Done", "Run", "openenv"]


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def openenv(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``openenv`` in this process, as its entry point does."""
    from openenv_core.cli.main import main

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: object) -> Done:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["openenv", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        said = capsys.readouterr()
        return Done(code if isinstance(code, int) else 0 if code is None else 1, said.out, said.err)

    return run
