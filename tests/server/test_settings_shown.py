"""Every setting is where people look for it: in the README and in the help of ``openenv serve``."""

import os
import subprocess
import sys
from typing import Any

import pytest

from openenv_core.errors import ConfigurationError
from openenv_core.settings import ServerSettings, markdown_table, option_of
from tests.support.readme_settings import stated_table

ROWS = ServerSettings.table()


def serve(*arguments: str, columns: int = 80, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1", **variables}
    command = [sys.executable, "-m", "openenv_core.cli", "serve", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_readme_has_the_table() -> None:
    assert stated_table() == markdown_table(), "run: python -m tests.support.readme_settings"


def test_the_help_has_every_option_and_every_variable_whole() -> None:
    words = set(serve("--help").stdout.replace("(", " ").replace(")", " ").split())
    for row in ROWS:
        assert row.variable in words or row.variable in {word.strip(".,;") for word in words}
        if row.option:
            assert {row.option, f"{row.option}/--no-{row.option[2:]}"} & words


def test_a_secret_has_no_option() -> None:
    assert [row.variable for row in ROWS if not row.option] == ["OPENENV_TOKEN"]
    refused = serve("echo_env", "--token", "canary-token")
    assert refused.returncode == 2
    assert "canary-token" not in refused.stdout


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--max-sessions", "0", "must be 1 or more"),
        ("--max-sessions", "abc", "abc"),
        ("--idle-timeout", "0", "must be a positive number"),
        ("--mode", "prod", "must be simulation or production"),
        ("--max-nesting", "201", "must be 1 to 200"),
        ("--max-opens-per-second", "-1", "must be 0 or a positive number"),
    ],
)
def test_an_option_is_checked_as_its_variable_is(option: str, value: str, why: str) -> None:
    refused = serve("echo_env", option, value)
    assert refused.returncode == 2
    told = " ".join(refused.stderr.replace("│", " ").split())
    assert option in told
    assert why in told


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("OPENENV_ALLOWED_HOSTS", " My.Test, *.b.test ,", "allowed_hosts", ("my.test", "*.b.test")),
        ("OPENENV_ALLOWED_ORIGINS", "https://Lab.test/", "allowed_origins", ("https://lab.test",)),
        ("OPENENV_TOKEN", " abc\n", "token", "abc"),
        ("OPENENV_MAX_OPENS_PER_SECOND", "0.5", "max_opens_per_second", 0.5),
        ("OPENENV_LOG_FORMAT", "JSON", "log_format", "json"),
        ("SPACE_HOST", "me-game.hf.space", "public_host", "me-game.hf.space"),
    ],
)
def test_variables_are_read(variable: str, text: str, name: str, value: Any) -> None:
    assert getattr(ServerSettings.from_environ({variable: text}), name) == value


def test_a_token_is_shown_neither_by_the_settings_nor_by_their_errors() -> None:
    assert "canary" not in repr(ServerSettings.from_environ({"OPENENV_TOKEN": "canary"}))
    with pytest.raises(ConfigurationError, match="OPENENV_TOKEN") as refused:
        ServerSettings.from_environ({"OPENENV_TOKEN": "canary with spaces"})
    assert "canary" not in str(refused.value)


def test_an_option_is_named_like_its_field() -> None:
    assert option_of("idle_timeout_s") == "--idle-timeout"
    assert option_of("max_sessions") == "--max-sessions"
