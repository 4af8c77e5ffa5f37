"""Which files of a project are published. Secrets are refused, junk and what is ignored stay behind."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["MAX_FILE_BYTES", "Sifted", "secret_in", "sift"]

MAX_FILE_BYTES = 10 * 1024 * 1024
"""Larger files are refused: a Space's repository is no place for them, and over 10 MB the Hub wants them in LFS."""

_JUNK_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".github", ".idea", ".vscode", "__pycache__", "node_modules", "build", "dist"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".cache", "htmlcov"),
    }
)
_JUNK_FILES = re.compile(r"(\.py[cod]|\.log|\.swp|~)$|^(\.DS_Store|Thumbs\.db|\.coverage)$|^openenv-push-.*")
_SECRET_NAMES = re.compile(
    r"^(\.env(\.(?!example$|sample$|template$|dist$).*)?|.*\.(pem|key|p12|pfx|jks|kdbx|keystore)"
    r"|id_(rsa|dsa|ecdsa|ed25519).*|\.netrc|\.pypirc|\.npmrc|\.git-credentials|\.htpasswd"
    r"|(.*[_-])?(credentials?|secrets?|service[_-]account)([_.\-].*)?\.(json|ya?ml|toml|ini|txt|env))$",
    re.IGNORECASE,
)
_SECRET_TEXTS = {
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b"),
    "a GitHub token": re.compile(rb"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b"),
    "an AWS key": re.compile(rb"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an API key": re.compile(rb"\bsk-[A-Za-z0-9_\-]{32,}"),
    "a Slack token": re.compile(rb"\bxox[abprs]-[A-Za-z0-9\-]{20,}"),
}
_ASSIGNED = re.compile(
    rb"""\b[\w.\-]*(?:secret|passw(?:or)?d|passphrase|token|(?:api|access|private|secret)[_\-]?key)(?![a-z])[\w\-]*"""
    rb"""["']?\]?[ \t]*(?::[ \t]*[A-Za-z_.| ]+?)?[ \t]*[:=][ \t]*[bru]?(["'])(?P<value>[^"'\s<>{}$]{8,})\1""",
    re.IGNORECASE,
)
"""A name that sounds like a secret's, and a text of one word that is assigned to it: in Python, JSON, YAML, TOML."""

_NO_SECRET = re.compile(
    rb"""change|your|example|placeholder|dummy|sample|insert|replace|redacted|not[-_]?(a|set|real)|none|test|todo"""
    rb"""|secret|passw|token|api[-_]?key|^(.)\2*$|\*\*|\.\.\.|xxx|\xe2\x80\xa6|^https?:|^[./~]|^--""",
    re.IGNORECASE,
)
"""What stands in the place of a secret, or says where it is: the name of a variable, an address, a path."""


@dataclass
class Sifted:
    """What became of the files below a folder. Paths are relative to it, with slashes.

    Attributes:
        kept: to be published, each with its path on disk.
        left: left behind, each with the reason.
        refused: what must not be published and is not ignored either, each with the reason.
    """

    kept: dict[str, Path] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def sift(folder: Path, *, exclude: tuple[str, ...] = ()) -> Sifted:
    """Sort the files below ``folder``.

    ``.gitignore`` files count as git reads them, those above the folder too, up to the repository's root; a
    ``.dockerignore`` in the folder counts as Docker reads it.

    Args:
        folder: what is to be published.
        exclude: further patterns, as in a ``.gitignore``.
    """
    from pathspec import GitIgnoreSpec

    folder = folder.resolve()
    result = Sifted()
    rules = _Rules(_ignores_above(folder), [*_docker_ignores(folder), (folder, GitIgnoreSpec.from_lines(exclude))])
    for path in _walk(folder, folder, rules, result):
        name = path.relative_to(folder).as_posix()
        reason = _reason_to_refuse(path, folder)
        if reason is None:
            result.kept[name] = path
        else:
            result.refused[name] = reason
    return result


Ignores = list[tuple[Path, "GitIgnoreSpec"]]
"""Patterns, each with the folder from which they count."""


@dataclass(frozen=True)
class _Rules:
    """What is ignored.

    Attributes:
        git: from the outermost folder to the innermost; the last that says anything of a file is right.
        others: any of them may leave a file out.
    """

    git: Ignores
    others: Ignores

    def below(self, folder: Path) -> "_Rules":
        """The rules for what is in a folder, which may have a ``.gitignore`` of its own."""
        own = folder / ".gitignore"
        return _Rules([*self.git, (folder, _spec(own))], self.others) if own.is_file() else self

    def ignore(self, path: Path, is_folder: bool) -> bool:
        """Whether a file or a folder is ignored."""
        said = None
        for verdict in self._verdicts(self.git, path, is_folder):
            said = said if verdict is None else verdict
        return bool(said) or any(self._verdicts(self.others, path, is_folder))

    @staticmethod
    def _verdicts(ignores: Ignores, path: Path, is_folder: bool) -> Iterator[bool | None]:
        for base, spec in ignores:
            name = path.relative_to(base).as_posix()
            yield spec.check_file(f"{name}/" if is_folder else name).include


def _walk(folder: Path, root: Path, rules: _Rules, result: Sifted) -> Iterator[Path]:
    rules = rules.below(folder)
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        name = path.relative_to(root).as_posix()
        is_folder = entry.is_dir(follow_symlinks=False)
        reason = _junk(path, is_folder) or ("ignored" if rules.ignore(path, is_folder) else None)
        if reason is not None:
            result.left[f"{name}/" if is_folder else name] = reason
        elif is_folder:
            yield from _walk(path, root, rules, result)
        else:
            yield path


def _junk(path: Path, is_folder: bool) -> str | None:
    if not is_folder:
        return "junk" if _JUNK_FILES.search(path.name) else None
    if path.name in _JUNK_FOLDERS or path.name.endswith(".egg-info"):
        return "junk"
    return "a virtual environment" if (path / "pyvenv.cfg").is_file() else None


def _spec(path: Path) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(path.read_text(encoding="utf-8", errors="replace").splitlines())


def _ignores_above(folder: Path) -> Ignores:
    """The ``.gitignore`` files above a folder that is in a git repository."""
    above: Ignores = []
    for parent in (folder, *folder.parents):
        if parent != folder and (parent / ".gitignore").is_file():
            above.insert(0, (parent, _spec(parent / ".gitignore")))
        if (parent / ".git").exists():
            return above
    return []


def _docker_ignores(folder: Path) -> Ignores:
    from pathspec import GitIgnoreSpec

    path = folder / ".dockerignore"
    if not path.is_file():
        return []
    lines = (line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    # A pattern of Docker's is relative to the context; git would look for it at every depth.
    anchored = [
        f"!/{line[1:].lstrip('/')}" if line.startswith("!") else f"/{line.lstrip('/')}"
        for line in lines
        if line and not line.startswith("#")
    ]
    # What a container does not need to be built may yet be what the Hub needs.
    needed = ["!/README.md", "!/Dockerfile", "!/.dockerignore", "!/openenv.yaml", "!/LICENSE"]
    return [(folder, GitIgnoreSpec.from_lines([*anchored, *needed]))]


def _reason_to_refuse(path: Path, folder: Path) -> str | None:
    if _SECRET_NAMES.match(PurePosixPath(path).name):
        return "its name is that of a secret"
    if path.is_symlink() and not path.resolve().is_relative_to(folder):
        return "a link that leads out of the project"
    if not path.is_file():
        return "neither a file nor a folder"
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        return f"{size / 1024**2:.0f} MiB; more than {MAX_FILE_BYTES // 1024**2} MiB a file is too large for a Space"
    found = secret_in(path.read_bytes())
    return f"it holds what looks like {found}" if found is not None else None


def secret_in(data: bytes) -> str | None:
    """What kind of secret a file's content shows, if any."""
    known = next((kind for kind, pattern in _SECRET_TEXTS.items() if pattern.search(data)), None)
    if known is not None:
        return known
    values = (found.group("value") for found in _ASSIGNED.finditer(data))
    return "a password or a key" if any(map(_is_guarded, values)) else None


def _is_guarded(value: bytes) -> bool:
    """Whether a text is one that somebody keeps to himself. A word of letters alone is a name more often."""
    return _NO_SECRET.search(value) is None and re.fullmatch(rb"[A-Za-z_.\-]+|[\d.,:]+", value) is None
