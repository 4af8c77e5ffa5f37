"""Tables lose nothing: in a pipe a row is whole, and at a terminal of 80 columns what matters is."""

import contextlib
import io

import pytest

from openenv_core.cli.list import _print_table as print_environments
from openenv_core.cli.sessions import _print_table as print_sessions

_ID = "2f0c0d0e-1111-4222-8333-abcdefabcdef"
_EPISODE = "7f0c0d0e-1111-4222-8333-abcdefabcdef"
LISTED = {
    "active": 1,
    "max": 8,
    "queued": 0,
    "sessions": [
        {
            **{"id": _ID, "caller": "127.0.0.1", "door": "websocket", "backend": "process", "state": "stepping"},
            **{"age_s": 1234.5, "idle_s": 33.1, "steps": 12, "steps_in_all": 1290},
            **{"episode": "running", "episode_id": _EPISODE},
        }
    ],
}
ROW = {
    "name": "browsergym_env",
    "version": "1.0.0.dev0",
    "client": "browsergym_env:BrowserGymEnv",
    "description": "MiniWoB tasks in a real browser: click, type and drag by accessibility tree or by picture.",
    "error": "",
}


class Screen(io.StringIO):
    """What a terminal of 80 columns is given."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The width of the terminal; it knows no colours."""
    for name, value in {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)


def test_a_pipe_has_every_cell_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_sessions(LISTED)
    print_environments([ROW])
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if _ID in line)
    assert row.split() == [
        *(_ID, "127.0.0.1", "stepping", "1234", "s", "33", "s", "12", "1290", "websocket", "process", "running"),
        _EPISODE,
    ]
    assert any(ROW["client"] in line and ROW["description"] in line for line in shown.splitlines())


def test_a_terminal_of_80_columns_has_what_matters_whole(narrow: None) -> None:
    with contextlib.redirect_stdout(Screen()) as screen:
        print_sessions(LISTED)
    lines = screen.getvalue().splitlines()
    row = next(line for line in lines if _ID in line)
    assert row.split() == [_ID, "127.0.0.1", "stepping", "1234", "s", "33", "s", "12"]
    assert max(map(len, lines)) <= 80


def test_a_terminal_of_80_columns_folds_and_cuts_nothing(narrow: None) -> None:
    with contextlib.redirect_stdout(Screen()) as screen:
        print_environments([ROW])
    shown = screen.getvalue()
    assert "…" not in shown
    assert ROW["name"] in shown
    cells = [line.split("│") for line in shown.splitlines() if line.startswith("│")]
    assert "".join(cell[3].strip() for cell in cells) == ROW["client"]
