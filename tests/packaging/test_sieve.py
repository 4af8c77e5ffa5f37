"""Which files are published."""

from pathlib import Path

import pytest

from openenv_core.packaging.sieve import secret_in, sift
from tests.support.source import REPOSITORY


def make(folder: Path, *names: str, **texts: str) -> None:
    """Files with some content."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get(name, "x"))


def test_ignore_files_count_as_git_reads_them(tmp_path: Path) -> None:
    project = tmp_path / "repository" / "envs" / "one"
    make(project, "a.txt", "b.txt", "keep/a.txt", "keep/c.tmp", "logs/x.txt", "sub/logs/y.txt")
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "repository" / ".gitignore").write_text("*.tmp\nlogs/\n/envs/one/b.txt\n")
    (project / ".gitignore").write_text("a.txt\n")
    (project / "keep" / ".gitignore").write_text("!a.txt\n!c.tmp\n")
    found = sift(project)
    assert set(found.kept) == {".gitignore", "keep/.gitignore", "keep/a.txt", "keep/c.tmp"}
    assert {"a.txt": "ignored", "b.txt": "ignored", "logs/": "ignored", "sub/logs/": "ignored"}.items() <= (
        found.left.items()
    )


def test_ignore_files_above_count_in_a_repository_only(tmp_path: Path) -> None:
    make(tmp_path / "project", "a.txt")
    (tmp_path / ".gitignore").write_text("*.txt\n")
    assert set(sift(tmp_path / "project").kept) == {"a.txt"}


def test_docker_s_patterns_count_from_the_folder(tmp_path: Path) -> None:
    make(tmp_path, "notes/a.md", "deep/notes/a.md", "README.md", "b.md", "deep/b.md")
    (tmp_path / ".dockerignore").write_text("# a comment\nnotes\n*.md\n!b.md\n")
    assert set(sift(tmp_path).kept) == {".dockerignore", "README.md", "b.md", "deep/b.md", "deep/notes/a.md"}


@pytest.mark.parametrize("name", [".env.example", "environment.py", "keyboard.py", "monkey.json", "secretary.json"])
def test_what_only_sounds_like_a_secret_is_kept(name: str, tmp_path: Path) -> None:
    make(tmp_path, name)
    assert set(sift(tmp_path).kept) == {name}


@pytest.mark.parametrize(
    "name",
    [".env", ".env.production", "server.PEM", "id_rsa", "id_rsa.pub", ".netrc", "client_secret.json", "secrets.yaml"],
)
def test_what_is_named_like_a_secret_is_refused(name: str, tmp_path: Path) -> None:
    make(tmp_path, name)
    assert set(sift(tmp_path).refused) == {name}


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "outside/diary.txt", "project/a.txt")
    (tmp_path / "project" / "diary.txt").symlink_to(tmp_path / "outside" / "diary.txt")
    (tmp_path / "project" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "project" / "b.txt").symlink_to("a.txt")
    found = sift(tmp_path / "project")
    assert set(found.refused) == {"diary.txt", "folder"}
    assert set(found.kept) == {"a.txt", "b.txt"}


@pytest.mark.parametrize("text", [b"hf_short", b"sk-learn", b"the key is under the mat", b"AKIA", b""])
def test_ordinary_text_is_no_secret(text: bytes) -> None:
    assert secret_in(text) is None


@pytest.mark.parametrize(
    "text",
    [
        'AWS_SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzk9AqLmw2e"',
        "password = 'hunter2-and-more'",
        'db_password: str = "k4tzenkl0"',
        '{"api_key": "9f8e7d6c5b4a3210"}',
        "  access-token: '4f9aZ-77ab-11'",
        'os.environ["HF_TOKEN"] = "0123456789abcdef"',
        'secretKey: "0a1b2c3d4e5f"',
        'connect(user="ada", passwd="pa55w0rt!")',
    ],
)
def test_a_text_that_is_assigned_to_a_secret_s_name_is_one(text: str) -> None:
    assert secret_in(f"first line\n{text}\n".encode()) == "a password or a key"


@pytest.mark.parametrize(
    "text",
    [
        'password = "changeme-123"',
        'password = "…12345678"',
        'api_key = os.environ["SERVICE_API_KEY_1"]',
        'TOKEN_VARIABLE = "OPENENV_TOKEN_2"',
        'token = getenv("SOME_V4R")',
        'secret = "your-key-12345"',
        'password = "xxxxxxxx"',
        'password = "short1"',
        'token = "${TOKEN_1234}"',
        'token_url = "https://host/path1"',
        'tokenizer = "bert_base"',
        'secret_word = "crane"',
        '"Secretary": "accept|continue"',
        'help = "the password of 12345678"',
    ],
)
def test_what_stands_in_the_place_of_a_secret_is_none(text: str) -> None:
    assert secret_in(text.encode()) is None


@pytest.mark.parametrize("folder", ["envs", "clients", "examples", "openenv_core"])
def test_nothing_of_this_repository_looks_like_a_secret(folder: str) -> None:
    paths = (REPOSITORY / folder).rglob("*")
    ours = [path for path in paths if path.suffix in {".py", ".toml", ".yaml", ".yml", ".json", ".md", ".js", ".html"}]
    assert ours
    assert {path: found for path in ours if (found := secret_in(path.read_bytes())) is not None} == {}
