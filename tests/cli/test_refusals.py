"""What a command cannot do is told in a sentence, before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from openenv_core.cli.run import _tell_end
from tests.support.commands import Run


@pytest.mark.parametrize("command", [["serve", "echo_env"], ["run", "echo_env"], ["doctor"]])
@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_is_one_that_there_is(openenv: Run, command: list[str], port: str) -> None:
    done = openenv(*command, "--port", port)
    assert done.code == 2
    assert "65535" in done.err or "greater than or equal to 0" in done.err


def test_a_target_without_a_module_is_told_how_it_is_named(openenv: Run) -> None:
    done = openenv("serve", ":X")
    assert done.code == 1
    assert "module:object" in done.err


def test_nothing_is_served_where_it_could_not_be_recorded(openenv: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    file = tmp_path / "file"
    for place, why in ((file, "it is a file"), ("/proc/x", "No such file"), (file / "x", "Not a directory")):
        done = openenv("serve", "echo_env", "--port", "0", "--record", place)
        assert done.code == 1
        assert f"no episode can be recorded in {place}: {why}" in done.err
        assert "--record" in done.err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_variant_that_there_is_not_is_told_before_a_login_is_asked_for(
    openenv: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    done = openenv("push", "textarena_env", "--variant", "nope", "--dry-run")
    assert done.code == 1
    assert "has no variant 'nope'" in done.err


@pytest.mark.parametrize("model", ["nope", "./nope", "/nope/nope", "a/b/c"])
def test_what_is_no_model_is_told_before_a_server_is_started(openenv: Run, model: str) -> None:
    done = openenv("eval", "echo_env", "--model", model)
    assert done.code == 1
    assert f"--model {model} is neither a URL, a folder of this machine, nor OWNER/NAME" in done.err


class Gone:
    """A container of which the engine tells nothing any more."""

    image = "openenv-echo"

    def logs(self) -> str:
        """Nothing."""
        return ""


def test_a_log_that_is_gone_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    gone: Any = Gone()
    _tell_end(gone, "is gone: no engine answers")
    assert "is gone: no engine answers; its log is empty, or gone with the engine" in capsys.readouterr().err
