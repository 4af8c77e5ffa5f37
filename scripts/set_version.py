"""Give all distributions of this repository one version: ``python scripts/set_version.py 1.2.0``.

The version stands in each ``pyproject.toml`` and ``openenv.yaml``, in ``openenv_core.__version__``, and in the lower
bounds with which our distributions require each other. ``--check`` says whether all agree, and changes nothing.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"\d+\.\d+\.\d+(a\d+|b\d+|rc\d+|\.dev\d+)?")
_UNRELEASED = "## Unreleased\n"

PLACES = {
    "openenv_core/__init__.py": r'^__version__ = "(.+)"$',
    "openenv.yaml": r"^version: (.+)$",
    "pyproject.toml": r'^version = "(.+)"$',
}
"""How a file's own version is written, by its name."""

_OURS = re.compile(r'("openenv-[\w-]+(?:\[[\w,]+\])?>=)([\w.]+)(,<\d+")')
"""A requirement of one of ours by another."""


def places() -> Iterator[tuple[Path, str]]:
    """The files that hold the version, each with the pattern of its own."""
    yield ROOT / "openenv_core/__init__.py", PLACES["openenv_core/__init__.py"]
    for name in ("pyproject.toml", "openenv.yaml"):
        for path in sorted([*ROOT.glob(name), *ROOT.glob(f"clients/*/{name}"), *ROOT.glob(f"envs/*/{name}")]):
            yield path, PLACES[name]


def versions() -> dict[str, set[str]]:
    """The versions that each file states: its own and those in its requirements."""
    found = {}
    for path, pattern in places():
        text = path.read_text(encoding="utf-8")
        own = re.findall(pattern, text, re.MULTILINE)
        required = [match.group(2) for match in _OURS.finditer(text)]
        found[path.relative_to(ROOT).as_posix()] = {*own, *required}
    return found


def set_version(version: str) -> list[Path]:
    """Write ``version`` everywhere; returns the files that changed."""
    changed = []
    below = int(version.partition(".")[0]) + 1
    for path, pattern in places():
        text = path.read_text(encoding="utf-8")
        new = re.sub(pattern, lambda found: found.group(0).replace(found.group(1), version), text, flags=re.MULTILINE)
        new = _OURS.sub(lambda found: f'{found.group(1)}{version},<{below}"', new)
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed


def release_notes(version: str) -> bool:
    """Give what is unreleased in the changelog this version and today's date; not for a development version."""
    path = ROOT / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    if ".dev" in version or _UNRELEASED not in text or f"\n## {version} " in text:
        return False
    today = datetime.now(UTC).date().isoformat()
    path.write_text(text.replace(_UNRELEASED, f"{_UNRELEASED}\n## {version} ({today})\n", 1), encoding="utf-8")
    return True


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="1.2.0, 1.2.0rc1 or 1.2.0.dev0")
    parser.add_argument("--check", action="store_true", help="say whether all agree, and change nothing")
    arguments = parser.parse_args()
    if arguments.check:
        found = versions()
        for name, stated in found.items():
            sys.stdout.write(f"{name}: {', '.join(sorted(stated)) or 'none'}\n")
        return 0 if len(set().union(*found.values())) == 1 and all(found.values()) else 1
    if arguments.version is None or not VERSION.fullmatch(arguments.version):
        parser.error(f"{arguments.version!r} is no version; write 1.2.0, 1.2.0rc1 or 1.2.0.dev0")
    for path in set_version(arguments.version):
        sys.stdout.write(f"{path.relative_to(ROOT)}: {arguments.version}\n")
    if release_notes(arguments.version):
        sys.stdout.write(f"CHANGELOG.md: what was unreleased is {arguments.version}\n")
    sys.stdout.write("install again, so that the metadata agree: make check\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
