"""Clients by name."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from echo_env import EchoAction, EchoEnv
from openenv_core import AutoAction, AutoEnv, GenericAction, GenericEnvClient
from openenv_core.client import auto
from openenv_core.errors import ConfigurationError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("name", ["echo_env", "echo-env", "echo", "Echo_Env"])
def test_a_client_is_found_by_its_name(name: str) -> None:
    assert AutoEnv.get_env_class(name) is EchoEnv
    assert AutoAction.from_env(name) is EchoAction


def test_a_client_is_made_with_its_own_options() -> None:
    env = AutoEnv.from_env("echo", base_url="http://127.0.0.1:1", headers={"x": "y"}, message_timeout_s=3.0)
    assert isinstance(env, EchoEnv)
    assert env.base_url == "http://127.0.0.1:1"
    with pytest.raises(TypeError, match="nonsense"):
        AutoEnv.from_env("echo", base_url="http://127.0.0.1:1", nonsense=1)


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    with pytest.raises(ConfigurationError, match="did you mean echo_env"):
        AutoEnv.from_env("ecko_env", base_url="http://127.0.0.1:1")
    with pytest.raises(ValueError, match=r"installed are: .*textarena_env"):
        AutoEnv.get_env_class("zzz")


@pytest.mark.parametrize("auto_class", [AutoEnv, AutoAction])
def test_there_are_no_instances(auto_class: Any) -> None:
    with pytest.raises(TypeError, match="has no instances"):
        auto_class()


def test_what_is_known_of_a_client(capsys: pytest.CaptureFixture[str]) -> None:
    info = AutoEnv.get_env_info("echo")
    assert info["env_class"] == "EchoEnv"
    assert info["action_class"] == "EchoAction"
    assert info["package"] == "openenv-echo-env"
    assert info["default_image"] == "openenv-echo"
    assert "message" in AutoAction.get_action_info("echo")["schema"]["properties"]
    AutoEnv.list_environments()
    AutoAction.list_actions()
    told = capsys.readouterr().out
    assert "echo_env:EchoEnv" in told
    assert "TextArenaAction" in told


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trust_remote_code": True},
        {"trust_remote_code": True, "revision": "main"},
        {"trust_remote_code": True, "revision": COMMIT[:7]},
        {"revision": COMMIT},
    ],
)
def test_nothing_of_a_space_is_installed_unless_a_commit_is_trusted(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*words: Any, **more: Any) -> Any:
        pytest.fail(f"ran {words}")

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.delenv("OPENENV_TRUST_REMOTE_CODE", raising=False)
    for find in (AutoEnv.from_env, AutoEnv.from_hub, AutoAction.from_env, AutoAction.from_hub):
        with pytest.raises(ConfigurationError, match="trust_remote_code=True and revision="):
            find("ada/echo", **options)


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_trusted_commit_is_what_is_installed(by_variable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def record(command: list[str], **more: Any) -> "subprocess.CompletedProcess[str]":
        ran.append(command)
        return subprocess.CompletedProcess(command, 1, "", "no such Space")

    monkeypatch.setattr(subprocess, "run", record)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    if by_variable:
        monkeypatch.setenv("OPENENV_TRUST_REMOTE_CODE", "yes")
    with pytest.raises(ConfigurationError, match="no such Space"):
        AutoAction.from_env("ada/echo", trust_remote_code=not by_variable, revision=COMMIT)
    assert [command[-1] for command in ran] == [f"git+http://127.0.0.1:1/spaces/ada/echo@{COMMIT}"]


def test_a_space_without_its_client() -> None:
    env = AutoEnv.from_env("ada/echo", base_url="http://127.0.0.1:1", skip_install=True)
    assert isinstance(env, GenericEnvClient)
    assert AutoAction.from_env("ada/echo", skip_install=True) is GenericAction
    with pytest.raises(ConfigurationError, match="OWNER/NAME"):
        AutoEnv.from_env("a/b/c")


def test_a_client_that_is_installed_from_the_space_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "openenv_spaced-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: openenv-spaced\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[openenv.clients]\nspaced = echo_env:EchoEnv\n")
    (folder / "direct_url.json").write_text(
        f'{{"url": "https://huggingface.co/spaces/ada/echo", "vcs_info": {{"vcs": "git", "commit_id": "{COMMIT}"}}}}'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    monkeypatch.setattr(auto, "_install", lambda requirement: pytest.fail(requirement))
    assert AutoAction.from_env("ada/echo") is EchoAction
    assert isinstance(AutoEnv.from_env("ada/echo", "http://127.0.0.1:1", revision=COMMIT), EchoEnv)
    with pytest.raises(ConfigurationError, match="trust_remote_code"):
        AutoEnv.from_env("ada/echo", "http://127.0.0.1:1", revision="f" * 40)


def test_a_client_that_does_not_import_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "openenv_broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: openenv-broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[openenv.clients]\nbroken = no_such_module:Client\nodd = echo_env:EchoAction\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match="does not import"):
        AutoEnv.get_env_class("broken")
    with pytest.raises(ConfigurationError, match="not a subclass of EnvClient"):
        AutoEnv.get_env_class("odd")
