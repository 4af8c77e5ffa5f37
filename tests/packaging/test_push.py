"""Pushing, to a Hub that listens on loopback and speaks what ``huggingface_hub`` asks."""

import json
from pathlib import Path

import pytest
import yaml

from openenv_core.packaging.card import front_matter
from tests.packaging.conftest import Run
from tests.support.fake_hub import TOKEN, FakeHub

# The Hub's own library uses its transport in a way that the transport would have changed.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")

WHEEL = "wheels/openenv_core-1.0.0.dev0-py3-none-any.whl"


def test_a_push_makes_a_space_that_is_complete(openenv: Run, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_KEY", "very secret value")
    done = openenv(
        "push", "echo_env", "--private", "--env", "GREETING=hi", "--secret", "ECHO_KEY", "--hardware", "t4-small"
    )
    assert done.code == 0, done.err
    space = hub.spaces["ada/echo_env"]
    assert (space.sdk, space.visibility, space.hardware) == ("docker", "private", "t4-small")
    assert (space.variables, space.secrets) == ({"GREETING": "hi"}, {"ECHO_KEY": "very secret value"})
    assert space.commits == ["Push the environment"]
    assert space.by_lfs == {WHEEL}
    assert {"README.md", "Dockerfile", "pyproject.toml", "openenv.yaml", "requirements.txt", "LICENSE"} <= set(
        space.files
    )
    assert {"echo_env/client.py", "server/pyproject.toml", "server/echo_env_server/app.py"} <= set(space.files)
    assert f"{hub.url}/spaces/ada/echo_env/resolve/main/{WHEEL}" in space.files["pyproject.toml"].decode()
    card, text = front_matter(space.files["README.md"].decode())
    assert {"sdk": "docker", "app_port": 8000, "base_path": "/web"}.items() <= card.items()
    assert "openenv" in card["tags"]
    assert f"pip install git+{hub.url}/spaces/ada/echo_env" in text
    assert "very secret value" not in done.out + done.err
    assert TOKEN not in done.out + done.err
    assert "https://ada-echo-env.hf.space/web" in done.out


def test_variables_and_secrets_are_there_before_the_first_start(
    openenv: Run, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "battery staple")
    assert openenv("push", "echo_env", "--env", "A=b", "--secret", "KEY").code == 0
    order = [
        asked.rpartition("/")[2] for asked in hub.asked if asked.endswith(("/variables", "/secrets", "/commit/main"))
    ]
    assert order == ["variables", "secrets", "main"]


def test_a_second_push_removes_what_is_gone(openenv: Run, hub: FakeHub, echo: Path) -> None:
    (echo / "echo_env_server" / "old.py").write_text("x = 1\n")
    assert openenv("push", echo).code == 0
    (echo / "echo_env_server" / "old.py").unlink()
    done = openenv("push", echo, "--json")
    assert json.loads(done.out)["removed"] == ["server/echo_env_server/old.py"]
    assert "server/echo_env_server/old.py" not in hub.spaces["ada/echo_env"].files


def test_a_space_that_is_something_else_is_left_alone(openenv: Run, hub: FakeHub) -> None:
    assert openenv("push", "echo_env", "--repo-id", "blog").code == 0
    hub.spaces["ada/blog"].files = {"app.py": b"", "README.md": b""}
    done = openenv("push", "echo_env", "--repo-id", "blog")
    assert done.code == 1
    assert "would replace something else" in done.err
    assert hub.spaces["ada/blog"].files == {"app.py": b"", "README.md": b""}


def test_a_variant_is_a_space_of_its_own(openenv: Run, hub: FakeHub) -> None:
    assert openenv("push", "textarena_env", "--variant", "sudoku", "--repo-id", "openenv/sudoku").code == 0
    files = hub.spaces["openenv/sudoku"].files
    assert files["Dockerfile"].decode().endswith('ENV TEXTARENA_ENV_ID="Sudoku-v0"\n')
    assert front_matter(files["README.md"].decode())[0]["title"] == "TextArena: sudoku"
    done = openenv("push", "textarena_env", "--variant", "chess")
    assert done.code == 1
    assert "wordle, sudoku" in done.err


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "hf auth login"),
        (402, "--hardware cpu-basic"),
        (403, "role `write`"),
        (404, "the owner's name"),
        (409, "push again"),
        (429, "wait some minutes"),
        (418, "Teapot"),
    ],
)
def test_a_refusal_is_one_line_of_advice(openenv: Run, hub: FakeHub, status: int, advice: str) -> None:
    # The Hub's own library takes a 409 at creation for "it is there already".
    hub.refuse = {"POST /api/repos/create" if status != 409 else "POST .*/commit/main": status}
    hub.refuse["GET /api/spaces/ada/echo_env$"] = status
    done = openenv("push", "echo_env")
    assert done.code == 1
    lines = [line for line in done.err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert advice in lines[0]
    assert f"HTTP {status}" in lines[0]
    assert "Traceback" not in done.err
    assert TOKEN not in done.out + done.err


def test_a_hub_that_is_not_there_is_one_line(openenv: Run, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    done = openenv("push", "echo_env", "--repo-id", "ada/echo")
    assert done.code == 1
    assert "cannot be reached" in done.err.splitlines()[-1]


def test_nobody_logged_in(openenv: Run, hub: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    done = openenv("push", "echo_env")
    assert done.code == 1
    assert "hf auth login" in done.err
    assert hub.asked == []


def test_a_dry_run_asks_the_hub_for_nothing_but_the_name(openenv: Run, hub: FakeHub, tmp_path: Path) -> None:
    done = openenv("push", "echo_env", "--dry-run", "--output", tmp_path / "space")
    assert done.code == 0, done.err
    assert hub.asked == ["GET /api/whoami-v2"]
    assert (tmp_path / "space" / WHEEL).is_file()
    assert "nothing was pushed" in done.out


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (".env", "A=1", "its name is that of a secret"),
        ("deploy.pem", "x", "its name is that of a secret"),
        ("id_ed25519", "x", "its name is that of a secret"),
        ("service-account.json", "{}", "its name is that of a secret"),
        ("notes.txt", "-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("settings.py", f'TOKEN = "{TOKEN}"', "a Hugging Face token"),
        ("settings.py", 'KEY = "sk-' + "a1B2" * 10 + '"', "an API key"),
        ("weights.bin", "x" * (10 * 1024 * 1024 + 1), "too large"),
    ],
)
def test_secrets_and_large_files_are_refused(
    openenv: Run, hub: FakeHub, echo: Path, name: str, content: str, reason: str
) -> None:
    (echo / "echo_env_server" / name).write_text(content)
    done = openenv("push", echo)
    assert done.code == 1
    assert f"echo_env_server/{name}" in done.err
    assert reason in done.err
    assert hub.spaces == {}
    assert openenv("push", echo, "--exclude", name).code == 0
    assert f"server/echo_env_server/{name}" not in hub.spaces["ada/echo_env"].files


def test_junk_and_what_is_ignored_stays_behind(openenv: Run, hub: FakeHub, echo: Path) -> None:
    for name in (
        ".git/config",
        "venv/pyvenv.cfg",
        "venv/big.bin",
        "__pycache__/a.pyc",
        "build/x",
        "notes/draft.md",
        "kept/draft.md",
        "deep/scratch/x",
    ):
        (echo / name).parent.mkdir(parents=True, exist_ok=True)
        (echo / name).write_text("x")
    (echo / ".env").write_text("A=1")
    (echo / ".gitignore").write_text(".env\nscratch/\n")
    (echo / ".dockerignore").write_text("notes\n*.md\n")
    done = openenv("push", echo, "--json")
    assert done.code == 0, done.err
    files = set(hub.spaces["ada/echo_env"].files)
    assert not {name for name in files if "venv" in name or "pyc" in name or "scratch" in name or ".env" in name}
    assert "server/notes/draft.md" not in files
    # A pattern of Docker's counts from the folder, where git would look at every depth; the card is needed anyway.
    assert {"server/kept/draft.md", "README.md", "server/README.md"} <= files
    left = json.loads(done.out)["left"]
    assert left["./venv/" if "./venv/" in left else "venv/"] == "a virtual environment"


def test_a_secret_is_not_taken_from_the_command_line(openenv: Run, hub: FakeHub) -> None:
    done = openenv("push", "echo_env", "--secret", "KEY=hunter2")
    assert done.code == 1
    assert "read a command line" in done.err
    assert "hunter2" not in done.out + done.err


def test_a_secret_that_stands_in_a_file_is_refused(
    openenv: Run, hub: FakeHub, echo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "correct horse")
    (echo / "echo_env_server" / "words.txt").write_text("the correct horse is here")
    done = openenv("push", echo, "--secret", "KEY")
    assert done.code == 1
    assert "it holds the value of the secret KEY" in done.err
    assert hub.spaces == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing_such"], "neither a folder"),
        (["echo_env", "--core", "somewhere"], "bundle, index or git+URL"),
        (["echo_env", "--env", "novalue"], "NAME=VALUE"),
        (["echo_env", "--output", "x"], "--dry-run"),
    ],
)
def test_what_cannot_work_is_told(openenv: Run, hub: FakeHub, words: list[str], told: str) -> None:
    done = openenv("push", *words)
    assert done.code == 1
    assert told in done.err
    assert hub.spaces == {}


@pytest.mark.parametrize(
    ("core", "client", "image"),
    [
        ("index", "openenv-core>=", "openenv-core[cli,server]\n"),
        (
            "git+https://example.org/core",
            "openenv-core @ git+https://example.org/core",
            "openenv-core[cli,server] @ git+",
        ),
    ],
)
def test_the_framework_may_come_from_elsewhere(
    openenv: Run, hub: FakeHub, core: str, client: str, image: str, tmp_path: Path
) -> None:
    assert openenv("push", "echo_env", "--core", core, "--dry-run", "--output", tmp_path / "space").code == 0
    assert client in (tmp_path / "space" / "pyproject.toml").read_text()
    assert image in (tmp_path / "space" / "requirements.txt").read_text()
    assert not (tmp_path / "space" / "wheels").exists()
    dockerfile = (tmp_path / "space" / "Dockerfile").read_text()
    assert "COPY wheels" not in dockerfile
    assert ("install --yes --no-install-recommends git" in dockerfile) is core.startswith("git+")


def test_a_folder_that_is_something_else_is_left_alone(openenv: Run, hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    done = openenv("push", "echo_env", "--dry-run", "--output", tmp_path / "home")
    assert done.code == 1
    assert (tmp_path / "home" / "letter.txt").read_text() == "dear"


def test_the_manifest_says_where_things_are_in_the_space(openenv: Run, hub: FakeHub) -> None:
    assert openenv("push", "echo_env").code == 0
    manifest = yaml.safe_load(hub.spaces["ada/echo_env"].files["openenv.yaml"])
    assert "client" not in manifest
    assert "server" not in manifest
    assert manifest["name"] == "echo_env"
