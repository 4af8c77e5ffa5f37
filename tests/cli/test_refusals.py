"""What a command cannot do is told in a sentence, before anything is started."""

from pathlib import Path

import pytest

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
