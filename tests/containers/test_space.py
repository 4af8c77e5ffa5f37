"""Clients of a Space: as it runs on the Hub, from its image, and from its repository."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from echo_env import EchoAction, EchoEnv
from openenv_core import ConfigurationError, ConnectionFailedError
from openenv_core.errors import UnauthorizedError
from openenv_core.packaging.project import find_project
from openenv_core.packaging.space import SpaceOptions, plan_space, write_space
from openenv_core.runtimes import ProcessRuntime
from openenv_core.runtimes.space import registry_image, space_subdomain
from tests.containers.engine import LIMIT_S, Images
from tests.support.fake_hub import TOKEN, FakeHub, FakeSpace, fake_hub

if TYPE_CHECKING:
    from docker import DockerClient

_HELLO = EchoAction(message="hello")
_SPACE = "Some-One/echo_env"
_COMMIT = "0123456789" * 4


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fake_hub(tmp_path / "hub") as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def told_of(hub: FakeHub, monkeypatch: pytest.MonkeyPatch, **facts: Any) -> None:
    """Have the Hub tell this of the Space."""
    hub.spaces[_SPACE] = FakeSpace()
    monkeypatch.setattr(hub, "info", lambda body, space: (200, {"id": space, **facts}))


def test_names() -> None:
    assert space_subdomain("Some-One/echo_env.2") == "some-one-echo-env-2"
    assert registry_image(_SPACE) == "registry.hf.space/some-one-echo-env:latest"


class TestRunning:
    def test_a_space_that_runs(self, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
        with ProcessRuntime("echo_env", env_vars={"OPENENV_TOKEN": TOKEN}) as server:
            told_of(hub, monkeypatch, host=server.base_url, runtime={"stage": "RUNNING"})
            for start in (EchoEnv.from_space, EchoEnv.from_env, EchoEnv.from_hub):
                with start(_SPACE, token=TOKEN) as env:
                    assert env.step(_HELLO).reward == 0.5
            # It is not ours to stop.
            with EchoEnv.from_space(_SPACE, token=TOKEN) as env:
                assert env.base_url == server.base_url

    def test_a_token_is_sent_only_where_it_is_given(self, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        told_of(hub, monkeypatch)
        with pytest.raises(ConfigurationError, match="give the token"):
            EchoEnv.from_space(_SPACE).sync()

    @pytest.mark.usefixtures("hub")
    def test_there_is_no_such_space(self) -> None:
        with pytest.raises(UnauthorizedError, match="no Space no-one/nothing"):
            EchoEnv.from_space("no-one/nothing", token=TOKEN).sync()

    def test_a_space_that_cannot_start(self, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
        told_of(hub, monkeypatch, host="http://127.0.0.1:1", runtime={"stage": "BUILD_ERROR"})
        with pytest.raises(ConnectionFailedError, match="does not build"):
            EchoEnv.from_space(_SPACE, token=TOKEN).sync()

    def test_a_space_that_is_not_ready_in_time(self, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
        told_of(hub, monkeypatch, host="http://127.0.0.1:1", runtime={"stage": "APP_STARTING"})
        with pytest.raises(ConnectionFailedError, match=r"not ready within 0\.1 s"):
            EchoEnv.from_space(_SPACE, token=TOKEN, start_limit_s=0.1).sync()

    def test_the_hub_is_out_of_reach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
        with pytest.raises(ConnectionFailedError, match="Hub cannot be reached"):
            EchoEnv.from_space(_SPACE).sync()


@pytest.mark.timeout(LIMIT_S)
def test_its_image(images: Images, engine: "DockerClient") -> None:
    name = registry_image(_SPACE)
    # As if it had been pulled.
    engine.images.get(images("echo_env")).tag(name)
    try:
        with EchoEnv.from_space(_SPACE, use_docker=True, env_vars={"OPENENV_TOKEN": "a-secret"}) as env:
            assert env.step(_HELLO).reward == 0.5
    finally:
        engine.images.remove(name)


class TestRepository:
    @pytest.mark.timeout(LIMIT_S)
    def test_it_is_installed_and_run(self, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        folder = tmp_path / "space"
        write_space(plan_space(find_project("echo_env"), SpaceOptions(_SPACE, hub.url)), folder)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        (wheel,) = (name for name in files if name.endswith(".whl"))
        hub.spaces[_SPACE] = FakeSpace(files=files, commits=["first"])
        revision = _head(hub)
        # The Hub keeps a wheel apart, and has in its place what says where.
        content, stored = files[wheel], f"version https://git-lfs.github.com/spec/v1\nsize {len(files[wheel])}\n"
        hub.spaces[_SPACE].files[wheel] = stored.encode()
        hub.spaces[_SPACE].commits.append("second")
        revision = _head(hub)
        hub.spaces[_SPACE].files[wheel] = content
        for _ in range(2):
            handle = EchoEnv.from_space(
                _SPACE, "git", revision=revision, trust_remote_code=True, env_vars={"MAX_CONCURRENT_ENVS": "3"}
            )
            with handle as env:
                assert env.step(_HELLO).reward == 0.5
                assert env.hello is not None
        # The second time it is there already.
        assert sum("info/refs" in asked for asked in hub.asked) == 1

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"source": "git", "revision": _COMMIT}, "trust_remote_code"),
            ({"source": "git", "trust_remote_code": True}, "40 hexadecimal digits"),
            ({"source": "git", "trust_remote_code": True, "revision": "main"}, "40 hexadecimal digits"),
            ({"source": "mirror"}, "'url', 'image', 'git'"),
            ({"env_vars": {"A": "b"}}, "in its settings"),
        ],
        ids=json.dumps,
    )
    def test_what_is_refused_before_anything_starts(self, options: dict[str, Any], told: str) -> None:
        with pytest.raises(ConfigurationError, match=told):
            EchoEnv.from_space(_SPACE, **options)

    def test_a_name_that_is_none(self) -> None:
        with pytest.raises(ConfigurationError, match="owner/name"):
            EchoEnv.from_space("https://huggingface.co/spaces/a/b")

    def test_a_commit_that_there_is_not(self, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        hub.spaces[_SPACE] = FakeSpace(files={"README.md": b"hello"}, commits=["first"])
        handle = EchoEnv.from_space(_SPACE, "git", revision=_COMMIT, trust_remote_code=True)
        with pytest.raises(ConnectionFailedError, match="cannot be had"):
            handle.sync()

    def test_a_repository_of_something_else(
        self, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        hub.spaces[_SPACE] = FakeSpace(files={"README.md": b"hello"}, commits=["first"])
        handle = EchoEnv.from_space(_SPACE, "git", revision=_head(hub), trust_remote_code=True)
        with pytest.raises(ConfigurationError, match="openenv push"):
            handle.sync()


def _head(hub: FakeHub) -> str:
    """The commit that a clone of the Space has."""
    done = subprocess.run(
        ["git", "ls-remote", f"{hub.url}/spaces/{_SPACE}", "HEAD"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    hub.asked.clear()
    return done.stdout.split()[0]
